import DivanLog
import Synchronization

/// A revision that is about to be stored, as a validation receives it.
///
/// ```swift
/// database.setValidation(named: "films have titles") { revision in
///   if !revision.isDeletion, revision.document["title"] == nil {
///     try revision.reject("a film has a title", keys: ["title"])
///   }
/// }
/// ```
///
/// It is a value: you can keep it, and it reads nothing from the store.
public struct ProposedRevision: Sendable {
  /// The document with the new revision's content and ID.
  public let document: Document
  /// The document at the revision that the new one was made from.
  ///
  /// Nil for a first revision, and for a revision from another store whose parent's content is not
  /// retained here. For a document that is created again after deletion, this is its tombstone.
  public let parent: Document?
  /// The author of the change, if it comes from another store.
  public let origin: String?

  /// The document's ID.
  public var id: String { document.id }
  /// Whether the new revision deletes the document.
  public var isDeletion: Bool { document.isDeleted }

  /// The names of the top-level properties that were added, removed or changed, in byte order.
  ///
  /// These are all names if there is no ``parent``. Each access decodes both contents.
  public var changedKeys: [String] {
    let before = parent?.properties ?? [:]
    let after = document.properties
    let set = after.filter { before[$0.key] != $0.value }.map(\.key)
    let removed = before.keys.filter { after[$0] == nil }
    return (set + removed).sorted { compareUTF8($0, $1) < 0 }
  }

  /// Refuses to store the revision.
  ///
  /// - Parameters:
  ///   - reason: The reason, in a sentence or less.
  ///   - keys: The names of the properties at fault.
  /// - Throws: A ``ValidationFailure``, always.
  public func reject(_ reason: String, keys: [String] = []) throws -> Never {
    throw ValidationFailure(reason, keys: keys)
  }
}

/// A named closure that checks revisions before they are stored.
struct Validation: Sendable {
  let name: String
  let validate: @Sendable (ProposedRevision) throws -> Void
}
