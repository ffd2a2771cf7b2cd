import Divan
import DivanLog
import Testing

struct DocumentRevisionIDTests {
  @Test(arguments: [
    ("1-ABCDEF0123456789ABCDEF0123456789", "1-abcdef0123456789abcdef0123456789"),
    ("1-abc def", "1-abc def"), ("01-a", "1-a"), ("1-a-b", "1-a-b"), ("1-é", "1-é"),
    ("1-utiopturoewpt", "1-utiopturoewpt"), ("321-fdjfdsj-e", "321-fdjfdsj-e"),
    ("1-ABCDEF", "1-ABCDEF"), ("9223372036854775807-x", "9223372036854775807-x"),
  ])
  func `accepted forms are kept`(text: String, kept: String) throws {
    let revision = try RevisionID(parsing: text)
    #expect(revision.description == kept)
    var writer = ByteWriter()
    revision.encode(into: &writer)
    var reader = ByteReader(writer.sharedCopy)
    #expect(try RevisionID(from: &reader) == revision)
  }

  @Test(arguments: [
    "abc", "1", "-1-a", "0-a", "1-", "0-fdjfdsj-e", "-4-fdjfdsj-e", "5_fdjfdsj-e", " 5-fdjfdsj-e",
    "7 -foo", "7-", "7", "eiuwtiu", "", "+1-a", "9223372036854775808-x",
    "99999999999999999999999-x",
    "١-a",
  ])
  func `other texts are refused`(text: String) {
    #expect(RevisionID(text) == nil)
    #expect { try RevisionID(parsing: text) } throws: {
      ($0 as? DatabaseError)?.code == .invalidRevisionID
    }
  }

  @Test(arguments: [
    ("1-foo", "1-foo", 0), ("2-bar", "1-foo", 1), ("123-bar", "456-foo", -1),
    ("456-foo", "123-bar", 1), ("456-foo", "456-foofoo", -1), ("89-foo", "123-bar", -1),
    ("123-bar", "89-foo", 1), ("123-a", "123-a", 0),
    ("1-abcdef0123456789abcdef0123456789", "1-abcdef0123456789abcdef012345678a", -1),
    ("1-abcdef0123456789abcdef0123456789", "1-abc", 1),
    ("1-abcdef0123456789abcdef0123456789", "1-b", -1),
    ("1-0bcdef0123456789abcdef0123456789", "1-abcdef0123456789abcdef0123456780", -1),
    ("1-e\u{301}", "1-\u{e9}", -1),
  ])
  func `revisions are ordered by generation, then by the bytes of the digest`(
    a: String, b: String, order: Int
  ) throws {
    let (a, b) = (try RevisionID(parsing: a), try RevisionID(parsing: b))
    #expect((a < b) == (order < 0))
    #expect((b < a) == (order > 0))
    #expect((a == b) == (order == 0))
  }

  @Test func `the same edit of the same parent has the same ID`() throws {
    let first = try RevisionID.compute(
      parent: nil, isDeleted: false, body: try (["v": 1] as Value).stored)
    let second = try RevisionID.compute(
      parent: first, isDeleted: false, body: try (["v": 2, "name": "Ada"] as Value).stored)
    let deleted = try RevisionID.compute(
      parent: second, isDeleted: true, body: try ([:] as Value).stored)
    print(first, second, deleted)

    var batch = RevisionID.Batch()
    for _ in 0..<3 {
      try (["v": 1] as Value).stored.withSpan {
        try batch.append(parent: nil, isDeleted: false, body: $0)
      }
      try (["v": 2, "name": "Ada"] as Value).stored.withSpan {
        try batch.append(parent: first, isDeleted: false, body: $0)
      }
      #expect(batch.count > 0)
    }
    #expect(batch.finish() == [first, second, first, second, first, second])
    #expect(batch.finish() == [])
  }
}
