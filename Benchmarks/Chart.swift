#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Draws figures as bars: a panel for each unit, because only bars of one unit are comparable.
struct Chart {
  /// The text above the bars.
  var title: String
  /// The figures to draw.
  var figures: [Figure]

  private static let width = 900
  private static let barStart = 420
  private static let barSpan = 380
  private static let rowHeight = 24
  private static let headHeight = 36

  /// Writes `benchmarks.svg` into a directory, which is created if necessary.
  func write(into directory: String) throws {
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    let file = URL(filePath: directory).appending(path: "benchmarks.svg")
    try Data(svg.utf8).write(to: file)
  }

  /// The picture as SVG.
  var svg: String {
    var body = text(title, x: 16, y: 26, style: "font-weight:bold;font-size:16px")
    var y = 44
    for unit in units {
      body += text(unit.rawValue, x: 16, y: y + 22, style: "font-weight:bold")
      y += Self.headHeight
      let panel = figures.filter { $0.unit == unit }
      let greatest = panel.map(\.median).max() ?? 1
      for figure in panel {
        body += row(figure, y: y, greatest: greatest)
        y += Self.rowHeight
      }
    }
    let height = y + 12
    return """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(Self.width)" height="\(height)" \
      viewBox="0 0 \(Self.width) \(height)" font-family="sans-serif" font-size="12">
      <rect width="100%" height="100%" fill="#ffffff"/>
      \(body)</svg>

      """
  }

  /// The units in the order of their first figures.
  private var units: [Unit] {
    figures.map(\.unit).reduce(into: []) { units, unit in
      if !units.contains(unit) { units.append(unit) }
    }
  }

  private func row(_ figure: Figure, y: Int, greatest: Double) -> String {
    let share = greatest > 0 ? max(0, figure.median / greatest) : 0
    let length = max(1, Int(share * Double(Self.barSpan)))
    let bar = """
      <rect x="\(Self.barStart)" y="\(y + 3)" width="\(length)" height="16" rx="2" fill="#3b7a8c">\
      <title>\(escaped(figure.title))</title></rect>

      """
    return text(shortened(figure.title), x: 16, y: y + 15, style: "")
      + bar
      + text(
        shortText(figure.median), x: Self.barStart + length + 6, y: y + 15, style: "fill:#333333")
  }

  private func text(_ text: String, x: Int, y: Int, style: String) -> String {
    "<text x=\"\(x)\" y=\"\(y)\" style=\"\(style)\">\(escaped(text))</text>\n"
  }

  private func shortened(_ text: String) -> String {
    text.count <= 62 ? text : text.prefix(61) + "…"
  }

  private func escaped(_ text: String) -> String {
    text.reduce(into: "") { escaped, character in
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      default: escaped.append(character)
      }
    }
  }
}
