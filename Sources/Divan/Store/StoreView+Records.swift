import DivanLog

// Reading records of the log. What is read is checked against its checksum, and against what led to it.

extension StoreView {
  /// The document that an index entry is of.
  func document(_ id: String, _ entry: DocumentEntry) throws(DatabaseError) -> Document {
    document(of: try winningRecord(of: entry, id))
  }

  /// The document of an ID that was found in the index.
  @inline(__always)
  func document(
    _ id: SharedBytes, at place: DocumentPlace
  ) throws(DatabaseError) -> Document {
    try checkText(ofID: id)
    return document(of: try winningRecord(at: place, id))
  }

  /// A document's ID as it stands in the index.
  func text(ofID id: SharedBytes) throws(DatabaseError) -> String {
    guard let text = id.text else { throw noText }
    return text
  }

  /// Throws if a document's ID is no text, for whoever needs it as bytes.
  @inline(__always)
  func checkText(ofID id: borrowing SharedBytes) throws(DatabaseError) {
    guard id.withSpan({ firstInvalidUTF8(in: $0) }) == nil else { throw noText }
  }

  private var noText: DatabaseError {
    DatabaseError(
      Damage(path: store.path, offset: 0, reason: "a document ID that is no text"))
  }

  /// The record that holds the body of a document's winning revision.
  func winningRecord(
    of entry: DocumentEntry, _ id: String
  ) throws(DatabaseError) -> StoredDocument {
    guard let sequence = entry.winningSequence else {
      return try read(at: entry.locator, of: id, sequence: entry.sequence)
    }
    return try older(sequence, of: id)
  }

  /// The same by the bytes of the ID.
  func winningRecord(
    of entry: DocumentEntry, _ id: SharedBytes
  ) throws(DatabaseError) -> StoredDocument {
    try winningRecord(at: entry.place, id)
  }

  /// The record that holds the body of a document's winning revision, by where the document is.
  @inline(__always)
  func winningRecord(
    at place: DocumentPlace, _ id: SharedBytes
  ) throws(DatabaseError) -> StoredDocument {
    if let sequence = place.winningSequence { return try older(sequence, of: try text(ofID: id)) }
    do throws(DatabaseError) {
      let payload = try payload(of: .document, at: place.locator)
      do throws(ByteError) {
        return try StoredDocument(payload, of: id, place.sequence)
      } catch {
        throw damage(at: place.locator, error.reason)
      }
    } catch {
      throw error.about(id.text)
    }
  }

  /// The newest record of a document, which may be of a revision that does not win.
  func newestRecord(
    of entry: DocumentEntry, _ id: String
  ) throws(DatabaseError) -> DocumentRecord {
    try read(at: entry.locator, of: id, sequence: entry.sequence)
  }

  /// A record that is held besides a document's newest one.
  func olderRecord(_ sequence: UInt64, of id: String) throws(DatabaseError) -> DocumentRecord {
    try older(sequence, of: id)
  }

  private func older<Content: DocumentContent>(
    _ sequence: UInt64, of id: String
  ) throws(DatabaseError) -> Content {
    let key = OlderKey.bytes(SharedBytes(utf8: id), sequence)
    guard let locator = try locator(in: \.older, key) else {
      throw DatabaseError(
        .damaged, "a revision of the document is not in the index", documentID: id,
        path: store.path)
    }
    return try read(at: locator, of: id, sequence: sequence)
  }

  /// A document's record of which is known already what it holds.
  func stored(
    _ payload: SharedBytes, at place: DocumentPlace
  ) throws(DatabaseError) -> StoredDocument {
    try content(of: payload, at: place.locator)
  }

  /// The record of some document at a place.
  func stored(at locator: RecordLocator) throws(DatabaseError) -> StoredDocument {
    try read(at: locator)
  }

  /// The same, in parts.
  func record(at locator: RecordLocator) throws(DatabaseError) -> DocumentRecord {
    try read(at: locator)
  }

  /// The record at a place, which must be that of a document and of one sequence number.
  private func read<Content: DocumentContent>(
    at locator: RecordLocator, of id: String, sequence: UInt64
  ) throws(DatabaseError) -> Content {
    let record: Content = try read(at: locator, documentID: id)
    guard record.sequence == sequence, record.isOf(id) else { throw mismatch(locator, id) }
    return record
  }

  /// The record of some document at a place; of which one, errors tell.
  private func read<Content: DocumentContent>(
    at locator: RecordLocator, documentID: @autoclosure () -> String? = nil
  ) throws(DatabaseError) -> Content {
    do throws(DatabaseError) {
      return try content(of: try payload(of: .document, at: locator), at: locator)
    } catch {
      throw error.about(documentID())
    }
  }

  /// The parts of what a document's record holds that stands at a place.
  private func content<Content: DocumentContent>(
    of payload: SharedBytes, at locator: RecordLocator
  ) throws(DatabaseError) -> Content {
    do throws(ByteError) {
      return try Content.decode(payload)
    } catch {
      throw damage(at: locator, error.reason)
    }
  }

  /// What a record of a kind holds that stands at a place.
  func payload(
    of kind: Record.Kind, at locator: RecordLocator
  ) throws(DatabaseError) -> SharedBytes {
    let bytes = try recordBytes(at: locator)
    let found: (kind: Record.Kind, payload: Range<Int>)
    do throws(ByteError) {
      found = try bytes.withSpan { (bytes) throws(ByteError) in try Record.checkWhole(bytes) }
    } catch {
      throw damage(at: locator, size: bytes.count, error.reason)
    }
    guard found.kind == kind else { throw mismatch(locator) }
    return bytes.suffix(from: found.payload.lowerBound)
  }

  /// The bytes that should be a record.
  private func recordBytes(at locator: RecordLocator) throws(DatabaseError) -> SharedBytes {
    if let bytes = unwrittenBytes(at: locator) { return bytes }
    if let bytes = state.segments.mappedBytes(at: locator) {
      _ = bytes.touchEachCacheLine()
      return bytes
    }
    guard let segment = state.segments[locator.fileID] else {
      throw DatabaseError(
        Damage(
          path: path(of: locator), offset: 0,
          reason: "segment file \(locator.fileID) is missing"))
    }
    return try translating { () throws(LogError) in try segment.recordBytes(at: locator) }
  }

  private func mismatch(_ locator: RecordLocator, _ id: String? = nil) -> DatabaseError {
    damage(at: locator, StoredDocument.isOfOther).about(id)
  }

  /// The error that says that a record is damaged.
  func damage(at locator: RecordLocator, size: Int? = nil, _ reason: String) -> DatabaseError {
    DatabaseError(
      Damage(
        path: path(of: locator), offset: Int(clamping: locator.offset), size: size, reason: reason))
  }

  /// The file that a locator names; the store's directory if there is no such file.
  private func path(of locator: RecordLocator) -> String {
    state.segments[locator.fileID]?.file.path ?? store.path
  }
}

extension StoreView {
  /// The content of a record that was met in the log.
  func decode<R>(
    _ item: RecordScan.Entry, _ decode: (SharedBytes) throws(ByteError) -> R
  ) throws(DatabaseError) -> R {
    do throws(ByteError) {
      return try decode(item.record.payload)
    } catch {
      throw damage(at: item.locator, error.reason)
    }
  }
}

extension StoreView {
  /// The document that a record holds, whose ID is known to be a text.
  @inline(__always)
  func document(of record: consuming StoredDocument) -> Document {
    let layout = record.layout
    let attachments = record.details.map { self.attachments($0.attachments) } ?? [:]
    return Document(record.takePayload(), layout, attachments: attachments)
  }

  /// The same in parts.
  func document(_ id: String, of record: DocumentRecord) -> Document {
    Document(
      id: id, revision: record.revision, parent: record.parent, sequence: record.sequence,
      isDeleted: record.isDeleted, body: record.body,
      attachments: record.details.map { attachments($0.attachments) } ?? [:])
  }
}

extension DatabaseError {
  /// The same error of a document.
  fileprivate func about(_ documentID: String?) -> DatabaseError {
    var error = self
    error.documentID = documentID
    return error
  }
}
