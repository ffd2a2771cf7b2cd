import DivanLog
import Testing

@testable import Divan

extension RevisionTree {
  /// The stored form.
  var stored: SharedBytes {
    var writer = ByteWriter()
    encode(into: &writer)
    return writer.sharedCopy
  }

  /// Reads what must be a stored form and nothing after it.
  init(stored bytes: SharedBytes) throws {
    var reader = ByteReader(bytes)
    try self.init(from: &reader)
    #expect(reader.isAtEnd)
  }

  func copyByCoding() throws -> RevisionTree { try RevisionTree(stored: stored) }
}
