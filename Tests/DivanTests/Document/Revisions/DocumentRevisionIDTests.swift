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
  func `valid revision IDs parse and survive a round trip`(text: String, kept: String) throws {
    let revision = try RevisionID(parsing: text)
    #expect(revision.description == kept)
    #expect(try RevisionID(parsing: kept) == revision)
  }

  @Test(arguments: [
    "abc", "1", "-1-a", "0-a", "1-", "0-fdjfdsj-e", "-4-fdjfdsj-e", "5_fdjfdsj-e", " 5-fdjfdsj-e",
    "7 -foo", "7-", "7", "eiuwtiu", "", "+1-a", "9223372036854775808-x",
    "99999999999999999999999-x",
    "١-a",
  ])
  func `invalid revision IDs are refused`(text: String) {
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

  @Test func `equal edits of the same parent have the same revision ID`() throws {
    let first = try RevisionID.compute(
      parent: nil, isDeleted: false, body: try (["v": 1] as Value).stored)
    let second = try RevisionID.compute(
      parent: first, isDeleted: false, body: try (["v": 2, "name": "Ada"] as Value).stored)
    let deleted = try RevisionID.compute(
      parent: second, isDeleted: true, body: try ([:] as Value).stored)
    // Computed by an independent program from the form that `compute` describes.
    #expect(first.description == "1-cf9999b3eedb9f4947c9220e8c1c431f")
    #expect(second.description == "2-faf44b889ffe17c98b2f46734a146617")
    #expect(deleted.description == "3-24452e20512fa1a034ce3ecc2ad5b044")

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

  @Test func `a revision ID depends on the attachments but not on their order`() throws {
    let body = try (["v": 1] as Value).stored
    let a = RevisionID.AttachmentDigest(
      name: "a.txt", contentType: "text/plain", length: 3, digest: SHA256.digest(of: body))
    var b = a
    b.name = "b.txt"
    func id(_ attachments: [RevisionID.AttachmentDigest]) throws -> RevisionID {
      try .compute(parent: nil, isDeleted: false, body: body, attachments: attachments)
    }
    #expect(try id([a, b]) == id([b, a]))
    #expect(try Set([id([]), id([a]), id([b]), id([a, b])]).count == 4)
  }

  @Test func `an edit beyond the largest generation is refused`() throws {
    let last = try #require(RevisionID(generation: RevisionID.generationLimit, digest: "x"))
    #expect { try RevisionID.compute(parent: last, isDeleted: false, body: .empty) } throws: {
      ($0 as? DatabaseError)?.code == .invalidRevisionID
    }
  }
}
