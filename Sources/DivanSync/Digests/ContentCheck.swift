package import Divan
package import Foundation

/// Checks whether content is that of a digest which another engine computed.
///
/// ```swift
/// guard var check = ContentCheck(attachment.foreignDigest) else { return true }
/// for try await piece in pieces { check.add(piece) }
/// return check.isPassed
/// ```
package struct ContentCheck: Sendable {
  private enum Digest: Sendable {
    case md5(MessageDigest<MD5>)
    case sha1(MessageDigest<SHA1>)
  }

  private var digest: Digest
  private let expected: [UInt8]

  /// Begins a check; nil if the digest is one that cannot be computed here.
  ///
  /// It can be computed if it is `md5-` or `sha1-` with a digest in base64. That of encoded content
  /// depends on the compressor, and older engines have spellings of their own.
  package init?(_ foreign: Document.Attachment.ForeignDigest?) {
    guard let foreign, foreign.encoding == nil, let hyphen = foreign.text.firstIndex(of: "-"),
      let expected = Data(
        base64Encoded: String(foreign.text[foreign.text.index(after: hyphen)...]))
    else { return nil }
    switch (foreign.text[..<hyphen], expected.count) {
    case ("md5", 16): digest = .md5(MessageDigest())
    case ("sha1", 20): digest = .sha1(MessageDigest())
    default: return nil
    }
    self.expected = Array(expected)
  }

  /// Adds the next bytes of the content.
  package mutating func add(_ piece: Data) {
    switch digest {
    case .md5(var md5):
      md5.add(piece)
      digest = .md5(md5)
    case .sha1(var sha1):
      sha1.add(piece)
      digest = .sha1(sha1)
    }
  }

  /// Whether what was added so far has the digest.
  package var isPassed: Bool {
    switch digest {
    case .md5(let md5): md5.bytes == expected
    case .sha1(let sha1): sha1.bytes == expected
    }
  }
}

extension Document.Attachment {
  /// Whether the stored content passes a check; it is read a piece at a time.
  func passes(_ check: ContentCheck) async throws -> Bool {
    var check = check
    for try await piece in asyncPieces() { check.add(piece) }
    return check.isPassed
  }
}
