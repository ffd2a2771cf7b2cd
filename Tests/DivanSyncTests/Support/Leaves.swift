import Divan
import Foundation
import Testing

/// A leaf revision with its content, as a store has it or as it is expected.
struct Leaf: Hashable, Comparable, CustomStringConvertible {
  var revision: RevisionID
  var isDeleted: Bool
  var properties: String
  var attachments: [String: Data] = [:]

  static func < (a: Leaf, b: Leaf) -> Bool { a.revision < b.revision }

  var description: String {
    "\(revision)\(isDeleted ? " deleted" : "") \(properties) \(attachments)"
  }

  init(_ document: Document) throws {
    revision = try #require(document.revision)
    isDeleted = document.isDeleted
    properties = Value.object(document.properties).json
    for (name, attachment) in document.attachments { attachments[name] = try attachment.data() }
  }
}

/// The documents of a store: their leaves, and the revision that wins.
struct Contents: Equatable {
  var leaves: [String: [Leaf]] = [:]
  var winners: [String: RevisionID] = [:]

  init() {}

  init(of database: Database) throws {
    let snapshot = try database.snapshot()
    for change in try snapshot.changes().collect() {
      leaves[change.id] = try snapshot.leaves(of: change.id).map { try Leaf($0) }.sorted()
      winners[change.id] = change.revision
    }
  }
}
