import Divan
import Foundation

/// The names in an object of JSON, in the order of the text.
///
/// A ``Value/Object`` has its members in another order. The text must be valid JSON.
enum MemberNames {
  /// Returns the names of an object that is a member of the outermost one.
  static func list(of member: String, in json: Data) -> [String] {
    let bytes = [UInt8](json)
    var names: [String] = []
    var (depth, index) = (0, 0)
    /// The last name of the outermost object.
    var outer = ""
    /// Whether the object is open whose names are returned.
    var isOpen = false
    /// Whether a text is a name, if it is in an object.
    var isName = false
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        isName = bytes[index] == UInt8(ascii: "{")
        if depth == 2 { isOpen = isName && outer == member }
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        if depth == 1 { isOpen = false }
      case UInt8(ascii: ","): isName = true
      case UInt8(ascii: ":"): isName = false
      case UInt8(ascii: "\""):
        let start = index
        index = end(ofText: bytes, from: start)
        guard isName, depth == 1 || depth == 2 && isOpen else { break }
        let name = text(bytes[start..<min(index + 1, bytes.count)])
        if depth == 1 { outer = name } else { names.append(name) }
      default: break
      }
      index += 1
    }
    return names
  }

  /// Returns the place of the quote that ends a text.
  private static func end(ofText bytes: [UInt8], from start: Int) -> Int {
    var index = start + 1
    while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
      index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
    }
    return index
  }

  private static func text(_ json: ArraySlice<UInt8>) -> String {
    (try? Value(json: Data(json)))?.stringValue ?? ""
  }
}
