import DivanLog

/// Charts without text, which stretch to the width that there is; text around them is HTML.
enum ReportChart {
  /// A part of a bar.
  struct Part {
    let size: UInt64
    let style: String
    let title: String
  }

  /// A place on a bar that is marked.
  struct Mark {
    let offset: Int
    let size: Int?
    let title: String
  }

  /// Returns a bar of parts, as long as its share of the longest one.
  static func bar(
    _ label: String, _ parts: [Part], of longest: UInt64, marks: [Mark] = [], size: UInt64? = nil
  ) -> String {
    let total = parts.reduce(0) { $0 + $1.size }
    let scale = 1000 / Double(max(longest, total, 1))
    var svg = start("bar", label, "0 0 1000 12")
    var offset: UInt64 = 0
    for part in parts where part.size > 0 {
      // The only part is always visible.
      let width = max(Double(part.size) * scale, parts.count == 1 ? 3 : 0)
      svg +=
        "<rect class=\"\(part.style)\" x=\"\(short(Double(offset) * scale))\" "
        + "width=\"\(short(width))\" height=\"12\">"
        + HTMLText.element("title", text: part.title) + "</rect>"
      offset += part.size
    }
    for mark in marks { svg += markup(of: mark, scale, limit: size ?? total) }
    return svg + "</svg>"
  }

  /// Returns a mark of damage: at least as wide as can be seen.
  private static func markup(of mark: Mark, _ scale: Double, limit: UInt64) -> String {
    let offset = min(UInt64(clamping: mark.offset), limit)
    let width = max(4, Double(min(UInt64(clamping: mark.size ?? 0), limit - offset)) * scale)
    let x = min(Double(offset) * scale, max(0, Double(limit) * scale - width))
    return "<rect class=\"damage\" x=\"\(short(x))\" width=\"\(short(width))\" height=\"12\">"
      + HTMLText.element("title", text: mark.title) + "</rect>"
  }

  /// Returns columns of parts, drawn upwards; an empty list of parts is a gap.
  static func columns(_ label: String, _ columns: [[Part]]) -> String {
    let highest = columns.map { $0.reduce(0) { $0 + $1.size } }.max() ?? 0
    let scale = 100 / Double(max(highest, 1))
    var svg = start("columns", label, "0 0 \(max(columns.count, 1) * 10) 100")
    for (index, parts) in columns.enumerated() where !parts.isEmpty {
      svg += "<g class=\"column\">"
      var top = 100.0
      for part in parts where part.size > 0 {
        let height = Double(part.size) * scale
        top -= height
        svg +=
          "<rect class=\"\(part.style)\" x=\"\(index * 10 + 1)\" y=\"\(short(top))\" width=\"8\" "
          + "height=\"\(short(height))\">" + HTMLText.element("title", text: part.title)
          + "</rect>"
      }
      svg += "</g>"
    }
    return svg + "</svg>"
  }

  private static func start(_ style: String, _ label: String, _ box: String) -> String {
    "<svg class=\"\(style)\" role=\"img\" aria-label=\"\(HTMLText.escaped(label))\" "
      + "viewBox=\"\(box)\" preserveAspectRatio=\"none\">"
  }

  /// Returns a coordinate with two decimal places at most.
  private static func short(_ value: Double) -> String {
    let hundredths = Int((value * 100).rounded())
    let (whole, rest) = (hundredths / 100, hundredths % 100)
    if rest == 0 { return "\(whole)" }
    return rest % 10 == 0 ? "\(whole).\(rest / 10)" : "\(whole).\(rest < 10 ? "0" : "")\(rest)"
  }
}

extension RevisionPicture {
  private enum Grid {
    static let (columnWidth, laneHeight) = (58, 40)
    static let (left, top) = (30, 34)
  }

  /// The tree as SVG, with its text at its natural size.
  var svg: String {
    let width = Grid.left * 2 + max(0, columnCount - 1) * Grid.columnWidth + 250
    let height = Grid.top + laneCount * Grid.laneHeight
    var svg =
      "<svg class=\"tree\" role=\"img\" width=\"\(width)\" height=\"\(height)\" aria-label=\""
      + HTMLText.escaped("The revisions of \(id)") + "\">"
    for node in nodes { svg += edge(to: node) }
    for column in 0..<columnCount {
      // Every node of a column has the same generation.
      guard let node = nodes.first(where: { $0.column == column }) else { continue }
      svg +=
        "<text class=\"axis\" x=\"\(x(node))\" y=\"12\" text-anchor=\"middle\">"
        + "\(node.generation)</text>"
    }
    for node in nodes { svg += markup(of: node) }
    return svg + "</svg>"
  }

  private func x(_ node: Node) -> Int { Grid.left + node.column * Grid.columnWidth }
  private func y(_ node: Node) -> Int { Grid.top + node.lane * Grid.laneHeight }

  private func edge(to node: Node) -> String {
    let (x, y) = (x(node), y(node))
    let style = node.skippedCount > 0 ? "edge skipped" : "edge"
    guard let parent = node.parent.map({ nodes[$0] }) else {
      guard node.generation > 1 else { return "" }
      return "<path class=\"edge skipped\" d=\"M\(x) \(y)h-22\"/>"
    }
    let (fromX, fromY) = (self.x(parent), self.y(parent))
    let title =
      node.skippedCount > 0
      ? HTMLText.element("title", text: "\(grouped(node.skippedCount)) revisions are not drawn")
      : ""
    return "<path class=\"\(style)\" d=\"M\(fromX) \(fromY)"
      + (fromY == y ? "H\(x)" : "C\(fromX + 29) \(fromY) \(x - 40) \(y) \(x) \(y)")
      + "\">\(title)</path>"
  }

  private func markup(of node: Node) -> String {
    let title =
      "\(node.revision): \(node.state.text)"
      + (node.isRetained ? "; its content is in the log" : "; only its ID is known")
    var svg =
      "<g><circle class=\"node \(node.state.style)\(node.isRetained ? "" : " hollow")\" "
      + "cx=\"\(x(node))\" cy=\"\(y(node))\" r=\"7\">" + HTMLText.element("title", text: title)
      + "</circle>"
    if node.state.isDeleted {
      svg += "<path class=\"cross\" d=\"M\(x(node) - 3) \(y(node) - 3)l6 6m0 -6l-6 6\"/>"
    }
    if node.state.isLeaf {
      svg +=
        "<text x=\"\(x(node) + 14)\" y=\"\(y(node) + 4)\">"
        + HTMLText.escaped(shortened(node.revision) + " · " + node.state.text) + "</text>"
    }
    return svg + "</g>"
  }

  private func shortened(_ revision: String) -> String {
    revision.count > 14 ? String(revision.prefix(12)) + "…" : revision
  }
}

extension RevisionPicture.State {
  var isLeaf: Bool { self != .ancestor && self != .deletedAncestor }
  var isDeleted: Bool { [.deletedWinner, .deletedBranch, .deletedAncestor].contains(self) }

  fileprivate var style: String {
    switch self {
    case .winner: "winner"
    case .branch: "branch"
    case .ancestor: "ancestor"
    case .deletedWinner, .deletedBranch, .deletedAncestor: "gone"
    }
  }

  var text: String {
    switch self {
    case .winner: "winner"
    case .deletedWinner: "deleted"
    case .branch: "branch in conflict"
    case .deletedBranch: "deleted branch"
    case .ancestor: "ancestor"
    case .deletedAncestor: "deleted ancestor"
    }
  }
}
