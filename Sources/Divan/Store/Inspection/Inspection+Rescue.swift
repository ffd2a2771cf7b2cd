package import DivanLog

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

// For tools that rebuild documents from a damaged log.

extension InspectedDocument {
  /// A leaf of the revision tree.
  package struct Leaf: Sendable {
    /// The sequence number of the leaf's record.
    package let sequence: UInt64
    /// The revision and its ancestors, newest first.
    package let history: [RevisionID]
  }

  /// Whether the record has optional details.
  package var hasDetails: Bool { content.details != nil }

  /// Whether the document has, or had, more than one line of revisions.
  package var hasTree: Bool { content.details?.tree != nil }

  /// The leaves of the document whose newest record this is, the winning one first.
  ///
  /// If its tree cannot be read, the only leaf is the record itself.
  package var leaves: [Leaf] {
    guard let tree = try? content.tree() else {
      return [Leaf(sequence: sequence, history: [revision])]
    }
    return tree.leaves.map { index in
      Leaf(
        sequence: tree.nodes[index].sequence, history: tree.history(of: index).map(\.revision))
    }
  }

  /// The time at which the document is to be purged, if this is its newest record.
  package var expiry: Date? { content.details?.expiry.map(Expiry.date) }

  /// The origin of the record's revision, if another store made it.
  package var origin: String? { content.details?.origin }

  /// Returns the attachments of the record's revision, with their content from `source`.
  package func attachments(
    from source: any AttachmentSource
  ) -> Document.Attachments {
    var attachments: Document.Attachments = [:]
    for entry in content.attachments {
      attachments[entry.name] = Document.Attachment(
        contentType: entry.contentType, length: Int(clamping: entry.length),
        generation: entry.generation, body: .stored(entry.digest, source),
        foreignDigest: entry.foreignDigest)
    }
    return attachments
  }

  /// Returns the revision that results from removing some attachments of the record's revision.
  package func revision(
    with attachments: Document.Attachments
  ) throws(DatabaseError) -> RevisionID {
    let entries = content.attachments.filter { attachments[$0.name] != nil }
    return try RevisionID.compute(
      parent: revision, isDeleted: isDeleted, body: content.body,
      attachments: entries.map(\.forRevision))
  }
}

extension InspectedRecord {
  /// Returns the properties in the record of a local document; nil if the record deletes it.
  package static func localProperties(
    _ payload: SharedBytes
  ) throws -> Value.Object? {
    try LocalDocumentRecord.decode(payload).body.flatMap {
      try EncodedValue($0).decode().objectValue
    }
  }
}

/// The content of attachments in a log that may be damaged: by records, or by files alone.
package final class InspectedAttachments: AttachmentSource {
  private let files: AttachmentFiles
  /// The locators of the attachments' records.
  private let locators: [SHA256.Digest: (segment: Segment, locator: RecordLocator)]

  /// Takes the records that were found.
  package init(
    in directory: StoreDirectory,
    locators: [SHA256.Digest: (segment: Segment, locator: RecordLocator)]
  ) {
    files = AttachmentFiles(directory, AttachmentFiles.Settings(isMapped: false))
    self.locators = locators
  }

  /// Opens the content of this digest.
  package func open(_ digest: SHA256.Digest) throws(DatabaseError) -> AttachmentReader {
    do throws(LogError) {
      guard let record = try record(of: digest) else {
        throw .damaged(
          Damage(
            path: files.path(of: digest), offset: 0, reason: "an attachment's content is missing"))
      }
      return try files.open(record)
    } catch {
      throw DatabaseError(error)
    }
  }

  private func record(of digest: SHA256.Digest) throws(LogError) -> AttachmentRecord? {
    guard let (segment, locator) = locators[digest],
      let record = try? AttachmentRecord.decode(segment.record(at: locator).payload)
    else {
      // The file may be whole although its record is lost.
      return try files.record(of: digest)
    }
    return record
  }
}
