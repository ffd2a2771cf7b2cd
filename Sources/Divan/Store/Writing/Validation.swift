import DivanLog
import Synchronization

/// A revision that is about to be stored, as a validation receives it.
///
/// It is a value: you can keep it, and it reads nothing from the store.
public struct ProposedRevision: Sendable {
  /// The document with the new revision's content and ID.
  public let document: Document
  /// The document at the revision that the new one was made from.
  ///
  /// Nil for a first revision, and for a revision from elsewhere whose parent's content is not held
  /// here. For a document that is created again after deletion, this is its tombstone.
  public let parent: Document?
  /// The author of the change, if it comes from elsewhere.
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
  /// - Throws: A ``ValidationRefusal``, always.
  public func refuse(_ reason: String, keys: [String] = []) throws -> Never {
    throw ValidationRefusal(reason, keys: keys)
  }
}

extension Database {
  /// Sets a closure that checks every revision before it is stored, and can refuse it.
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
  /// The closure runs for everything that stores a revision: `put`, `overwrite`, `update` and
  /// `delete`, models, and revisions from elsewhere that are not known yet. It does not run for
  /// local documents, expiries and purges. Several validations run in the order of the bytes of
  /// their names, and the first that throws ends the call. Then nothing of the call is stored, and
  /// the transaction may go on.
  ///
  /// A refusal (``ProposedRevision/refuse(_:keys:)``) becomes a ``DatabaseError`` with the code
  /// ``DatabaseError/Code/refused``; any other error of the closure is thrown unchanged.
  ///
  /// Validations are not stored: set them each time you open the database. A transaction keeps the
  /// validations that were set when it began. With validations, storing a revision also costs a
  /// read of its parent and the run time of the closures, during which other writers wait. The
  /// database retains the closure, so the closure should not hold the database.
  ///
  /// - Parameters:
  ///   - name: The validation's name; replaces an earlier one with this name.
  ///   - validate: Checks a revision, and throws if it must not be stored. It must not write to the
  ///     database. Nil removes the validation.
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

/// A named closure that checks revisions before they are stored.
struct Validation: Sendable {
  let name: String
  let validate: @Sendable (ProposedRevision) throws -> Void
}

extension Store {
  /// The validations that apply to a transaction that begins now.
  var currentValidations: [Validation] { validations.withLock { $0 } }
}

extension WriteTransaction {
  /// Runs the validations for a revision that is not known yet.
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
