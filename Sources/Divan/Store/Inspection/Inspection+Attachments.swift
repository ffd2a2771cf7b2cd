package import DivanLog

/// The content of an attachment in an opened store, for tools.
package struct InspectedContent: Sendable {
  package let digest: SHA256.Digest
  /// The size of the content, in bytes.
  package let length: Int
  /// Whether it is in a file of its own, and not in the log.
  package let isFile: Bool
  package let locator: RecordLocator
  /// The damage of its file, which is missing or has a wrong size; its content is not read.
  package let damage: Damage?
}

extension InspectedContents {
  /// Calls `body` with each attachment content, or with the error of a record that is damaged.
  ///
  /// Reads their records, and the sizes of their files.
  package func forEachAttachment(
    _ body: (Result<InspectedContent, DatabaseError>) -> Void
  ) throws {
    let prefix = [CatalogKey.Kind.attachment.rawValue]
    var scan = view.state.catalog.scan(from: .inclusive(prefix), to: .end(ofPrefix: prefix))
    while let item = try view.step(&scan) {
      let locator = try view.decodeLocator(item)
      do throws(DatabaseError) {
        body(.success(try content(at: locator)))
      } catch {
        guard error.code == .damaged else { throw error }
        body(.failure(error))
      }
    }
  }

  private func content(at locator: RecordLocator) throws(DatabaseError) -> InspectedContent {
    let payload = try view.payload(of: .attachment, at: locator)
    let record: AttachmentRecord
    do throws(ByteError) {
      record = try AttachmentRecord.decode(payload)
    } catch {
      throw view.damage(at: locator, error.reason)
    }
    var damage: Damage?
    if case .file = record.content {
      do throws(LogError) {
        _ = try view.environment.attachments.open(record)
      } catch .damaged(let found) {
        damage = found
      } catch {
        throw DatabaseError(error)
      }
    }
    let isFile = if case .file = record.content { true } else { false }
    return InspectedContent(
      digest: record.digest, length: record.length, isFile: isFile, locator: locator,
      damage: damage)
  }

  /// A revision's reference to an attachment.
  package struct Reference: Sendable {
    package let documentID: String
    /// The attachment's name and content type; nil if the record cannot be read.
    package let name: String?
    package let contentType: String?
  }

  /// Returns the documents that refer to a content, and one of these references.
  ///
  /// Reads one record.
  package func references(
    to digest: SHA256.Digest
  ) throws -> (documentCount: Int, first: Reference?) {
    let found = try view.repairing { (version) throws(PageError) in
      var found: [(sequence: UInt64, id: SharedBytes)] = []
      for reference in try version.state.attachmentReferences(digest)
      where try version.state.reaches(reference.sequence, of: reference.id) {
        found.append(reference)
      }
      return found
    }
    let count = Set(found.map { $0.id.array }).count
    return (count, found.first.map { reference(to: digest, $0.sequence, $0.id) })
  }

  private func reference(
    to digest: SHA256.Digest, _ sequence: UInt64, _ id: SharedBytes
  ) -> Reference {
    let text = InspectedContents.text(ofID: id)
    // A damaged record has no name for the attachment, which is whole nevertheless.
    let record = try? record(sequence, of: text)
    let entry = record?.details?.attachments.first { $0.digest == digest }
    return Reference(documentID: text, name: entry?.name, contentType: entry?.contentType)
  }

  private func record(
    _ sequence: UInt64, of id: String
  ) throws(DatabaseError) -> DocumentRecord? {
    guard let entry = try view.entry(id) else { return nil }
    return entry.sequence == sequence
      ? try view.newestRecord(of: entry, id) : try view.retainedRecord(sequence, of: id)
  }
}
