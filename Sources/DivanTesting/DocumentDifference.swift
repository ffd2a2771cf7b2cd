public import Divan

/// A document that is not the same in two states of a database.
///
/// ```swift
/// let trial = try MigrationTrial(jsonLines: lines, schema: schema)
/// for change in trial.changes {
///   print(change.id, change.before?["nights"] ?? .null, change.after?["nights"] ?? .null)
/// }
/// ```
public struct DocumentDifference: Sendable, Hashable, Identifiable {
  /// The document's ID.
  public let id: String
  /// The earlier document; nil if there was none.
  public let before: Document?
  /// The later document; nil if it was deleted.
  public let after: Document?

  /// Returns the documents whose properties or attachments are different, sorted by ID.
  ///
  /// A revision that changes nothing makes no difference.
  static func all(from earlier: Snapshot, to later: Snapshot) throws -> [DocumentDifference] {
    let changes = try ObservedChanges(from: earlier, to: later)
    var differences: [DocumentDifference] = []
    for id in ObservedChanges(inserted: changes.inserted + changes.updated + changes.deleted)
      .inserted
    {
      let (before, after) = (try earlier.document(id), try later.document(id))
      guard before?.properties != after?.properties || before?.attachments != after?.attachments
      else { continue }
      differences.append(DocumentDifference(id: id, before: before, after: after))
    }
    return differences
  }
}

extension DocumentDifference: CustomStringConvertible {
  /// The lines of the documents that are different: see ``LineDifference``.
  public var description: String {
    let texts = [before, after].map { document in
      document.map { DocumentText([$0]).text } ?? ""
    }
    return LineDifference(from: texts[0], to: texts[1])?.description ?? "\(id): no differences"
  }
}
