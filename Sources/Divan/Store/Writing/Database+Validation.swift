import DivanLog
import Synchronization

extension Database {
  /// Sets a closure that checks every revision before it is stored, and can refuse it.
  ///
  /// ```swift
  /// database.setValidation(named: "films") { revision in
  ///   guard !revision.isDeletion, revision.id.hasPrefix("film:") else { return }
  ///   if revision.document["title"]?.stringValue == nil {
  ///     try revision.reject("a film has a title", keys: ["title"])
  ///   }
  /// }
  /// ```
  ///
  /// The closure runs for everything that stores a revision: `put`, `replace`, `update` and
  /// `delete`, models, and unknown revisions from other stores. It does not run for
  /// local documents, expiries and purges. Several validations run in the order of the bytes of
  /// their names, and the first that throws ends the call. Then nothing of the call is stored, and
  /// the transaction may go on.
  ///
  /// A rejection (``ProposedRevision/reject(_:keys:)``) becomes a ``DatabaseError`` with the code
  /// ``DatabaseError/Code/validationFailed``; any other error of the closure is thrown unchanged.
  ///
  /// Validations are not stored: set them each time you open the database. A transaction keeps the
  /// validations that were set when it began. With validations, storing a revision also costs a
  /// read of its parent and the run time of the closures, during which other writers wait. The
  /// database retains the closure, so the closure should not retain the database.
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
    store.validations.withLock { $0 }.map(\.name)
  }
}
