import DivanLog
import Synchronization

/// A revision that is about to be stored, as a validation sees it.
///
/// A value: it may be kept, and looks nothing up.
public struct ProposedRevision: Sendable {
  /// The document as the new revision has it, with the ID that the revision will have.
  public let document: Document
  /// The document as the revision has it that the new one was made from.
  ///
  /// Nil for a first revision; and for one from elsewhere, if the content of the one before it is not
  /// held here. A document that was deleted and comes again has its tombstone here.
  public let parent: Document?
  /// Who made the change, if it comes from elsewhere.
  public let origin: String?

  /// The document's ID.
  public var id: String { document.id }
  /// Whether the new revision deletes the document.
  public var isDeletion: Bool { document.isDeleted }

  /// The names of the top-level properties that were added, removed or changed, in the order of their
  /// bytes; all names, if there is no ``parent``.
  ///
  /// Costs decoding both contents, each time.
  public var changedKeys: [String] {
    let before = parent?.properties ?? [:]
    let after = document.properties
    let set = after.filter { before[$0.key] != $0.value }.map(\.key)
    let removed = before.keys.filter { after[$0] == nil }
    return (set + removed).sorted { compareUTF8($0, $1) < 0 }
  }

  /// Does not let the revision be stored.
  ///
  /// - Parameters:
  ///   - reason: why, in a sentence or less.
  ///   - keys: the names of the properties at fault.
  /// - Throws: a ``ValidationRefusal``, always.
  public func refuse(_ reason: String, keys: [String] = []) throws -> Never {
    throw ValidationRefusal(reason, keys: keys)
  }
}

extension Database {
  /// Has every revision looked at before it is stored, by a closure that can refuse it.
  ///
  /// ```swift
  /// database.setValidation(named: "films") { revision in
  ///   guard !revision.isDeletion, revision.id.hasPrefix("film:") else { return }
  ///   if revision.document["title"]?.stringValue == nil {
  ///     try revision.refuse("a film has a title", keys: ["title"])
  ///   }
  /// }
  /// ```
  ///
  /// It runs for everything that stores a revision: `put`, `overwrite`, `update` and `delete`, models,
  /// and revisions that come from elsewhere, unless they are known already; not for local documents,
  /// expiries and purges. Several validations run in the order of the bytes of their names, and the first
  /// that throws ends it. Then nothing of the call is stored, and the transaction may go on.
  ///
  /// A refusal (``ProposedRevision/refuse(_:keys:)``) becomes a ``DatabaseError`` with the code
  /// ``DatabaseError/Code/refused``; whatever else the closure throws is thrown as it is.
  ///
  /// Validations are not stored: set them each time the database is opened. A transaction that runs
  /// already goes on with those that were set when it began. While there are any, storing a revision
  /// costs reading the one before it, and what the closures do, which everybody waits for who wants to
  /// write. A database keeps the closure, so it should not hold the database.
  ///
  /// - Parameters:
  ///   - name: which validation; one that was set under this name before is replaced.
  ///   - validate: what looks at a revision, and throws if it must not be stored. It must not write to
  ///     the database. Nil takes the validation away.
  public func setValidation(
    named name: String, _ validate: (@Sendable (ProposedRevision) throws -> Void)?
  ) {
    store.validations.withLock { validations in
      validations.removeAll { haveSameUTF8($0.name, name) }
      guard let validate else { return }
      let index = validations.firstIndex { compareUTF8($0.name, name) > 0 } ?? validations.endIndex
      validations.insert(Validation(name: name, validate: validate), at: index)
    }
  }

  /// The names of the validations that are set, in the order in which they run.
  public var validationNames: [String] {
    store.currentValidations.map(\.name)
  }
}

/// What looks at revisions before they are stored.
struct Validation: Sendable {
  let name: String
  let validate: @Sendable (ProposedRevision) throws -> Void
}

extension Store {
  /// The validations that a transaction which begins now goes by.
  var currentValidations: [Validation] { validations.withLock { $0 } }
}

extension WriteTransaction {
  /// Asks the validations whether a revision may be stored that is not known yet.
  func validate(_ edit: RevisionEdit, id: String) throws {
    guard !validations.isEmpty else { return }
    let parent = edit.parent
    var document = Document(
      id: id, revision: edit.revision, parent: parent, sequence: 0, isDeleted: edit.isDeleted,
      body: edit.body)
    document.attachments = view.attachments(edit.attachments)
    let revision = ProposedRevision(
      document: document,
      parent: try parent.flatMap { try Snapshot(view).revision($0, of: id) },
      origin: edit.origin)
    for validation in validations {
      do {
        try validation.validate(revision)
      } catch let refusal as ValidationRefusal {
        var error = DatabaseError(
          .refused, "the validation \(validation.name.debugDescription) says: \(refusal)",
          documentID: id)
        error.refusal = refusal
        throw error
      }
    }
  }
}
