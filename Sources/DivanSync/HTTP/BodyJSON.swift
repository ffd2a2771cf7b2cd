import Divan
import Foundation

/// The JSON of the bodies of requests and responses.
enum BodyJSON {
  /// How deep arrays and objects may be nested: as those of a document, and a few levels around it.
  ///
  /// `{"results": [{"docs": [{"ok": {…}}]}]}` has five. What is stored has the limit of a document,
  /// which the store checks.
  private static let depthLimit = DocumentLimits.depth + 8

  /// Reads the JSON of a body.
  static func value(of data: Data) throws(DatabaseError) -> Value {
    try Value(json: data, depthLimit: depthLimit)
  }

  /// About how many bytes of memory a value takes.
  static let memoryOfValue = 48

  /// About how much memory the values of some JSON take, besides their texts.
  ///
  /// Each value but the first follows a comma or a bracket that no other one follows. A list of a
  /// million digits has two megabytes and takes many times as much.
  static func valueSize(_ json: Data) -> Int {
    var count = 1
    var (isText, isEscaped, isOpened) = (false, false, false)
    for byte in json {
      if isText {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isText = false
        }
        continue
      }
      switch byte {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): continue
      case UInt8(ascii: ","): count += 1
      case UInt8(ascii: "]"), UInt8(ascii: "}"): break
      default: if isOpened { count += 1 }
      }
      isOpened = byte == UInt8(ascii: "[") || byte == UInt8(ascii: "{")
      isText = byte == UInt8(ascii: "\"")
    }
    return memoryOfValue * count
  }

  /// Whether the values of some JSON take more memory than an answer of a size may.
  ///
  /// It is six times the size. So an answer of 64 MiB, which is the limit for one document, can
  /// have the 8 million values that a document of 16 MiB of JSON has at most.
  static func hasTooManyValues(_ json: Data, sizeLimit: Int) -> Bool {
    let limit = 6 * sizeLimit
    // Each value but the first has a character and a comma, or two brackets.
    return memoryOfValue * (json.count / 2 + 1) > limit && valueSize(json) > limit
  }
}
