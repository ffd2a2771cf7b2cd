import DivanLog
import Synchronization

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
      } catch let failure as ValidationFailure {
        var error = DatabaseError(
          .validationFailed, "the validation \(validation.name.debugDescription) says: \(failure)",
          documentID: id)
        error.validationFailure = failure
        throw error
      }
    }
  }
}
