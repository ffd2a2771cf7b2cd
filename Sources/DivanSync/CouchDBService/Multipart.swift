import Divan
import Foundation

/// The parts of a multipart body that is sent.
struct MultipartBoundary: Sendable {
  let text: String

  /// Creates a boundary that no content has, but by a chance of 1 to 2¹²⁸.
  init() {
    var generator = SystemRandomNumberGenerator()
    let numbers = (0..<2).map { _ in UInt64.random(in: .min ... .max, using: &generator) }
    text = numbers.map { number in
      let digits = String(number, radix: 16)
      return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }.joined()
  }

  /// The value of `Content-Type` for a body with this boundary.
  func contentType(_ kind: String) -> String { "multipart/\(kind); boundary=\"\(text)\"" }

  /// Returns the parts of a document that is followed by its attachments.
  func related(_ document: ServedDocument) -> [BodyPart] {
    var parts: [BodyPart] = [
      .text(
        "--\(text)\r\nContent-Type: application/json\r\n\r\n\(Value.object(document.members).json)")
    ]
    for (name, attachment) in zip(document.followingNames, document.following) {
      parts.append(
        .text(
          """
          \r\n--\(text)\r
          Content-Disposition: attachment; filename="\(CouchDBConnection.encoded(name))"\r
          Content-Type: \(attachment.headerContentType)\r
          Content-Length: \(attachment.length)\r\n\r\n
          """))
      parts.append(.attachment(attachment, nil))
    }
    return parts + [.text("\r\n--\(text)--")]
  }
}

extension Document.Attachment {
  /// The MIME type as a header can have it.
  ///
  /// The stored one is any text, which could add headers of its own.
  var headerContentType: String {
    let isPlain = contentType.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    let isType = contentType.contains("/") && contentType.utf8.count <= 1000
    return isPlain && isType ? contentType : "application/octet-stream"
  }
}

extension BodyPart {
  /// The size of the part in bytes.
  var size: Int {
    switch self {
    case .text(let text): text.utf8.count
    case .attachment(let attachment, let range): range?.count ?? attachment.length
    case .base64(let attachment): (attachment.length + 2) / 3 * 4
    }
  }
}
