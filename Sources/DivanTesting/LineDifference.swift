import DivanLog

/// The lines that two texts do not share, with some lines around them.
///
/// ```text
/// - expected, + actual
///   elbe
/// -   nights: 2
/// +   nights: 3
///     title: "Along the Elbe"
/// ```
///
/// Two lines are equal if their bytes are. Lines that are not near a difference are left out,
/// except the last line before it that is not indented: in a ``DocumentText``, the ID of the
/// document.
public struct LineDifference: Sendable, Hashable, CustomStringConvertible {
  /// The number of lines that only the expected text has.
  public let missingCount: Int
  /// The number of lines that only the actual text has.
  public let unexpectedCount: Int
  /// The lines, each after `- ` if it is missing, `+ ` if it is unexpected, and two spaces if both
  /// texts have it.
  public let description: String

  /// The number of equal lines that are shown before and after a difference.
  private static let contextCount = 2
  /// The number of lines that are shown.
  private static let lineLimit = 400

  private struct Line: Hashable {
    let text: String
    static func == (a: Line, b: Line) -> Bool { haveSameUTF8(a.text, b.text) }
    func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }
    var isHeading: Bool { text.utf8.first.map { $0 != UInt8(ascii: " ") } ?? false }
  }

  private struct Row {
    let mark: Character
    let line: Line
    var blankMark: String { mark == " " ? "" : "\(mark)" }
  }

  /// Compares two texts line by line; nil if all lines are equal.
  public init?(from expected: String, to actual: String) {
    let (old, new) = (LineDifference.lines(of: expected), LineDifference.lines(of: actual))
    let rows = LineDifference.rows(from: old, to: new)
    missingCount = rows.count { $0.mark == "-" }
    unexpectedCount = rows.count { $0.mark == "+" }
    guard missingCount + unexpectedCount > 0 else { return nil }
    description = LineDifference.describe(rows)
  }

  private static func lines(of text: String) -> [Line] {
    guard !text.isEmpty else { return [] }
    return text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .map { Line(text: String(Substring($0))) }
  }

  private static func rows(from old: [Line], to new: [Line]) -> [Row] {
    var (removed, inserted): (Set<Int>, Set<Int>) = ([], [])
    for change in new.difference(from: old) {
      switch change {
      case .remove(let offset, _, _): removed.insert(offset)
      case .insert(let offset, _, _): inserted.insert(offset)
      }
    }
    var rows: [Row] = []
    var next = 0
    for (offset, line) in old.enumerated() {
      if removed.contains(offset) {
        rows.append(Row(mark: "-", line: line))
        continue
      }
      while inserted.contains(next) {
        rows.append(Row(mark: "+", line: new[next]))
        next += 1
      }
      rows.append(Row(mark: " ", line: line))
      next += 1
    }
    for line in new[next...] { rows.append(Row(mark: "+", line: line)) }
    return rows
  }

  private static func describe(_ rows: [Row]) -> String {
    var shown: Set<Int> = []
    var heading: Int?
    for (index, row) in rows.enumerated() {
      if row.line.isHeading { heading = index }
      guard row.mark != " " else { continue }
      if let heading { shown.insert(heading) }
      for near in index - contextCount...index + contextCount where rows.indices.contains(near) {
        shown.insert(near)
      }
    }
    var lines = ["- expected, + actual"]
    var last = -1
    for index in shown.sorted() {
      if index > last + 1 { lines.append("  …") }
      last = index
      // Without spaces at the end of a line, which editors remove from expected texts.
      let row = rows[index]
      lines.append(row.line.text.isEmpty ? row.blankMark : "\(row.mark) \(row.line.text)")
    }
    if last < rows.count - 1 { lines.append("  …") }
    if lines.count > lineLimit {
      let more = lines.count - lineLimit
      lines = lines.prefix(lineLimit) + ["  … and \(more) more lines"]
    }
    return lines.joined(separator: "\n")
  }
}
