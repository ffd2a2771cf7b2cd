import Divan
package import DivanLog

/// A buffered stream of lines.
package final class Output {
  private var buffer = ByteWriter(capacity: sizeGoal + 4096)
  private let write: (borrowing ByteWriter) throws -> Void
  /// Called before the buffer is written.
  package var willWrite: () -> Void = {}

  private static let sizeGoal = 1 << 16

  /// Writes to a stream of the process.
  package convenience init(_ stream: StandardStream) {
    self.init { (bytes: borrowing ByteWriter) in try stream.write(bytes) }
  }

  /// Passes the bytes to `write`, in pieces.
  package init(write: @escaping (borrowing ByteWriter) throws -> Void) { self.write = write }

  /// Writes a line.
  package func line(_ text: String) throws {
    buffer.append(utf8: text)
    buffer.append(UInt8(ascii: "\n"))
    if buffer.count >= Output.sizeGoal { try flush() }
  }

  /// Writes text without a line end.
  package func text(_ text: String) throws { buffer.append(utf8: text) }

  /// Writes bytes, such as whole lines.
  package func bytes(_ bytes: SharedBytes) throws {
    buffer.append(bytes)
    if buffer.count >= Output.sizeGoal { try flush() }
  }

  package func flush() throws {
    guard buffer.count > 0 else { return }
    willWrite()
    try write(buffer)
    buffer.removeAll()
  }
}

/// A JSON value whose fields keep their order.
indirect enum JSONNode {
  case text(String)
  case number(UInt64)
  case flag(Bool)
  case null
  case list([JSONNode])
  case fields([(String, JSONNode)])
  /// JSON text as it is.
  case raw(String)
}

extension JSONNode {
  static func number(_ number: Int) -> JSONNode { .number(UInt64(clamping: number)) }
  static func number(_ number: UInt32) -> JSONNode { .number(UInt64(number)) }

  /// The value as compact JSON text.
  var json: String {
    switch self {
    case .text(let text): Value.string(text).json
    case .number(let number): number.description
    case .flag(let flag): flag ? "true" : "false"
    case .null: "null"
    case .list(let items): "[" + items.map(\.json).joined(separator: ",") + "]"
    case .fields(let fields):
      "{" + fields.map { "\(Value.string($0).json):\($1.json)" }.joined(separator: ",") + "}"
    case .raw(let text): text
    }
  }
}

/// Text in a column, padded on the right.
func column(_ text: String, _ width: Int) -> String {
  text + String(repeating: " ", count: max(0, width - text.count))
}

/// A number in a column, padded on the left.
func column(_ number: some BinaryInteger, _ width: Int) -> String {
  let text = String(number)
  return String(repeating: " ", count: max(0, width - text.count)) + text
}

/// Returns milliseconds since 1970 as a date and a time in UTC, in the form of ISO 8601.
func timestamp(_ milliseconds: UInt64) -> String {
  // After the year 9999 there is no such form.
  guard milliseconds < 253_402_300_800_000 else { return "\(milliseconds) ms" }
  let seconds = Int(milliseconds / 1000)
  let (day, time) = (seconds / 86400, seconds % 86400)
  // Days are counted from the 1st of March of year 0, so that a leap day ends its year.
  let shifted = day + 719_468
  let era = shifted / 146_097
  let dayOfEra = shifted % 146_097
  let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
  let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
  let month = (5 * dayOfYear + 2) / 153
  let year = yearOfEra + era * 400 + (month >= 10 ? 1 : 0)
  return digits(year, 4) + "-" + digits(month >= 10 ? month - 9 : month + 3, 2) + "-"
    + digits(dayOfYear - (153 * month + 2) / 5 + 1, 2) + "T" + digits(time / 3600, 2) + ":"
    + digits(time / 60 % 60, 2) + ":" + digits(time % 60, 2) + "."
    + digits(Int(milliseconds % 1000), 3) + "Z"
}

private func digits(_ number: Int, _ count: Int) -> String {
  let text = String(number)
  return String(repeating: "0", count: max(0, count - text.count)) + text
}
