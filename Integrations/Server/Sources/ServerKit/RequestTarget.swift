import Foundation

/// What the first line of a request asks for: a path with a query.
enum RequestTarget {
  /// Returns the URL of a path with a query; nil if it is none.
  ///
  /// Parts such as `..` are kept, since they are names like any others here. Characters that a URL
  /// may not have, such as quotes, are encoded; many clients send them as they are.
  static func url(_ target: String) -> URL? {
    // Other forms name a host or a connection to it, which only a proxy is asked for.
    guard target.utf8.first == UInt8(ascii: "/"), !hasStrayPercent(target.utf8) else { return nil }
    var encoded: [UInt8] = []
    for byte in target.utf8 {
      if isAllowed(byte) {
        encoded.append(byte)
      } else {
        encoded += Array("%\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8)
      }
    }
    return URL(
      string: "http://localhost" + String(decoding: encoded, as: UTF8.self),
      encodingInvalidCharacters: false)
  }

  /// Whether a percent sign is not followed by two digits.
  private static func hasStrayPercent(_ bytes: String.UTF8View) -> Bool {
    var rest = bytes[...]
    while let index = rest.firstIndex(of: UInt8(ascii: "%")) {
      rest = rest[bytes.index(after: index)...]
      guard rest.count >= 2, rest.prefix(2).allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit })
      else { return true }
    }
    return false
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: "-._~!$&'()*+,;=:@/?%".utf8.contains(byte)
    }
  }
}
