import DivanLog

/// Text with markup, to which only escaped text is added.
struct HTMLText {
  private(set) var markup = ""

  /// The most characters of an ID or a name that are shown.
  private static let shownLimit = 96
}

extension HTMLText {
  /// Returns text that has no effect as markup, in contents and in quoted attributes.
  ///
  /// Control characters and direction marks are visible, as in the other commands.
  static func escaped(_ text: String) -> String {
    var safe = ""
    for scalar in printable(text).unicodeScalars {
      switch scalar {
      case "&": safe += "&amp;"
      case "<": safe += "&lt;"
      case ">": safe += "&gt;"
      case "\"": safe += "&quot;"
      case "'": safe += "&#39;"
      default: safe.unicodeScalars.append(scalar)
      }
    }
    return safe
  }

  /// Adds markup, which must not contain text of the store.
  mutating func add(_ markup: String) { self.markup += markup + "\n" }

  /// Adds an element with text as its content.
  mutating func add(_ name: String, _ attributes: String = "", text: String) {
    add(HTMLText.element(name, attributes, text: text))
  }

  static func element(_ name: String, _ attributes: String = "", text: String) -> String {
    "<\(name)\(attributes.isEmpty ? "" : " " + attributes)>\(escaped(text))</\(name)>"
  }

  /// Returns an ID or a name as an element, cut in the middle if it is long.
  ///
  /// It is isolated, so that text from right to left does not reorder the text around it.
  static func name(_ text: String) -> String {
    let visible = printable(text)
    guard visible.count > shownLimit else { return "<bdi>\(escaped(visible))</bdi>" }
    let half = shownLimit / 2
    return "<bdi title=\"\(escaped(String(visible.prefix(1024))))\">"
      + "\(escaped(String(visible.prefix(half))))…\(escaped(String(visible.suffix(half))))</bdi>"
  }

  /// Adds a table; the cells are markup, and the first one of each row is its head.
  mutating func addTable(caption: String, heads: [Head], rows: [[String]], footer: String? = nil) {
    // A narrow window scrolls it, also with the keyboard.
    add(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\""
        + HTMLText.escaped(caption) + "\"><table>")
    add("caption", text: caption)
    add(
      "<thead><tr>"
        + heads.map { Self.element("th", "scope=\"col\"\($0.attribute)", text: $0.text) }.joined()
        + "</tr></thead><tbody>")
    for row in rows {
      let cells = zip(heads, row).enumerated().map { index, cell in
        let name = index == 0 ? "th scope=\"row\"" : "td"
        return "<\(name)\(cell.0.attribute)>\(cell.1)</\(index == 0 ? "th" : "td")>"
      }
      add("<tr>\(cells.joined())</tr>")
    }
    add("</tbody></table></div>")
    if let footer { add("p", "class=\"note\"", text: footer) }
  }

  /// The head of a column.
  struct Head {
    let text: String
    let kind: String

    /// The attribute of the column's cells.
    var attribute: String { kind.isEmpty ? "" : " class=\"\(kind)\"" }

    static func text(_ text: String) -> Head { Head(text: text, kind: "") }
    static func number(_ text: String) -> Head { Head(text: text, kind: "number") }
    /// A column with a chart, which takes the rest of the width.
    static func chart(_ text: String) -> Head { Head(text: text, kind: "chart") }
    /// A column with an ID, which breaks anywhere.
    static func name(_ text: String) -> Head { Head(text: text, kind: "name") }
    static func file(_ text: String) -> Head { Head(text: text, kind: "file") }
    static func time(_ text: String) -> Head { Head(text: text, kind: "time") }
    /// A short bar beside its number.
    static let smallChart = Head(text: "", kind: "small-chart")
  }
}

/// Returns a number with commas between thousands.
func grouped(_ number: some BinaryInteger) -> String {
  let digits = Array(String(number))
  var text = ""
  for (index, digit) in digits.enumerated() {
    if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
    text.append(digit)
  }
  return text
}

/// Returns a number of bytes in the unit that suits it, with three digits at least.
func readableSize(_ size: some BinaryInteger) -> String {
  let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
  var (value, unit) = (Double(size), 0)
  while value >= 1024, unit + 1 < units.count {
    value /= 1024
    unit += 1
  }
  guard unit > 0 else { return "\(size) \(size == 1 ? "byte" : "bytes")" }
  let tenths = Int((value * 10).rounded())
  return value < 100
    ? "\(tenths / 10).\(tenths % 10) \(units[unit])" : "\(grouped(tenths / 10)) \(units[unit])"
}

/// Returns a share in percent, which is 0 or 100 only if the share is exactly that.
func readableShare(_ part: some BinaryInteger, of whole: some BinaryInteger) -> String {
  guard whole > 0, part > 0 else { return "0 %" }
  guard part != whole else { return "100 %" }
  let share = Double(part) / Double(whole) * 100
  if share < 0.1 { return "< 0.1 %" }
  if share > 99.9 { return "> 99.9 %" }
  let tenths = Int((share * 10).rounded())
  return share < 10 || share > 99 ? "\(tenths / 10).\(tenths % 10) %" : "\((tenths + 5) / 10) %"
}

/// Returns milliseconds since 1970 as a day and a time in UTC, to the second.
func readableTime(_ milliseconds: UInt64) -> String {
  let text = timestamp(milliseconds)
  return text.hasSuffix("Z")
    ? "\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) UTC" : text
}
