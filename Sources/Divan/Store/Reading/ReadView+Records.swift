import DivanLog

// Reading records of the log. Each is checked against its checksum, and against the entry that
// leads to it.

extension ReadView {
  /// Returns the document at a location from the index.
  func document(
    _ id: String, at location: DocumentLocation
  ) throws(DatabaseError) -> Document {
    try withUTF8(of: id) { (id) throws(DatabaseError) in
      document(of: try winningRecord(at: location, id))
    }
  }

  /// Returns the document with an ID that was found in the index.
  @inline(__always)
  func document(
    _ id: SharedBytes, at location: DocumentLocation
  ) throws(DatabaseError) -> Document {
    try checkText(ofID: id)
    return document(of: try winningRecord(at: location, id))
  }

  /// Returns a document's ID in the index as a string.
  func text(ofID id: SharedBytes) throws(DatabaseError) -> String {
    guard let text = id.text else { throw noText }
    return text
  }

  /// Throws if a document's ID is not valid UTF-8, for callers that need only its bytes.
  @inline(__always)
  func checkText(ofID id: borrowing SharedBytes) throws(DatabaseError) {
    guard id.withSpan({ firstInvalidUTF8(in: $0) }) == nil else { throw noText }
  }

  private var noText: DatabaseError {
    environment.note(
      DatabaseError(
        Damage(path: environment.path, offset: 0, reason: "a document ID that is not UTF-8")))
  }

  /// Returns the record with the properties of a document's winning revision.
  @inline(__always)
  func winningRecord(
    at location: DocumentLocation, _ id: Span<UInt8>
  ) throws(DatabaseError) -> StoredDocument {
    if let sequence = location.winningSequence {
      return try readRetained(sequence, of: try text(ofID: SharedBytes(copying: id)))
    }
    do throws(DatabaseError) {
      let payload = try unreportedPayload(of: .document, at: location.locator)
      do throws(ByteError) {
        return try StoredDocument(payload, of: id, location.sequence)
      } catch {
        throw damage(at: location.locator, error.reason)
      }
    } catch {
      throw environment.note(error.about(SharedBytes(copying: id).text))
    }
  }

  /// Does the same for shared bytes.
  @inline(__always)
  func winningRecord(
    at location: DocumentLocation, _ id: SharedBytes
  ) throws(DatabaseError) -> StoredDocument {
    try id.withSpan { (id) throws(DatabaseError) in try winningRecord(at: location, id) }
  }

  /// Returns the newest record of a document, whose revision need not be the winning one.
  func newestRecord(
    of entry: DocumentEntry, _ id: String
  ) throws(DatabaseError) -> DocumentRecord {
    try read(at: entry.locator, of: id, sequence: entry.sequence)
  }

  /// Returns a retained record that is not a document's newest one.
  func retainedRecord(_ sequence: UInt64, of id: String) throws(DatabaseError) -> DocumentRecord {
    try readRetained(sequence, of: id)
  }

  private func readRetained<Content: DocumentContent>(
    _ sequence: UInt64, of id: String
  ) throws(DatabaseError) -> Content {
    let key = RetainedKey.bytes(SharedBytes(utf8: id), sequence)
    guard let locator = try locator(in: \.retained, key) else {
      throw environment.note(
        DatabaseError(
          .damaged, "a revision of the document is not in the index", documentID: id,
          path: environment.path))
    }
    return try read(at: locator, of: id, sequence: sequence)
  }

  /// Reads a document's record at a locator.
  func stored(at locator: RecordLocator) throws(DatabaseError) -> StoredDocument {
    try read(at: locator)
  }

  /// Reads a document's record at a locator, decoded into parts.
  func record(at locator: RecordLocator) throws(DatabaseError) -> DocumentRecord {
    try read(at: locator)
  }

  /// Reads the record at a locator, and checks that it has this document ID and sequence number.
  private func read<Content: DocumentContent>(
    at locator: RecordLocator, of id: String, sequence: UInt64
  ) throws(DatabaseError) -> Content {
    let record: Content = try read(at: locator, documentID: id)
    guard record.sequence == sequence, record.idBytes.isUTF8(of: id) else {
      throw environment.note(mismatch(locator, id))
    }
    return record
  }

  /// Reads a document's record at a locator; errors name the document ID if there is one.
  private func read<Content: DocumentContent>(
    at locator: RecordLocator, documentID: @autoclosure () -> String? = nil
  ) throws(DatabaseError) -> Content {
    do throws(DatabaseError) {
      return try content(of: try unreportedPayload(of: .document, at: locator), at: locator)
    } catch {
      throw environment.note(error.about(documentID()))
    }
  }

  /// Decodes the payload of a document's record.
  func content<Content: DocumentContent>(
    of payload: SharedBytes, at locator: RecordLocator
  ) throws(DatabaseError) -> Content {
    do throws(ByteError) {
      return try Content.decode(payload)
    } catch {
      throw damage(at: locator, error.reason)
    }
  }

  /// Returns the payload of the record at a locator, which must be of a kind; reports damage.
  func payload(
    of kind: Record.Kind, at locator: RecordLocator
  ) throws(DatabaseError) -> SharedBytes {
    do throws(DatabaseError) {
      return try unreportedPayload(of: kind, at: locator)
    } catch {
      throw environment.note(error)
    }
  }

  /// Does the same for a caller that adds the document's ID to the error, and reports that.
  private func unreportedPayload(
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
    let stored = bytes.suffix(from: found.payload.lowerBound)
    return environment.directory.isEncrypted ? try opened(stored, kind, locator) : stored
  }

  /// Returns the payload of a record in an encrypted segment.
  ///
  /// Not inlined: every read of a store that is not encrypted would load its code.
  @inline(never)
  private func opened(
    _ stored: SharedBytes, _ kind: Record.Kind, _ locator: RecordLocator
  ) throws(DatabaseError) -> SharedBytes {
    do throws(ByteError) {
      return try stored.opened(
        .record(kind: kind.rawValue), by: state.segments[locator.fileID]?.file.encryption)
    } catch {
      throw damage(at: locator, size: Int(locator.size), error.reason)
    }
  }

  /// Returns the bytes at a record's locator, unchecked.
  private func recordBytes(at locator: RecordLocator) throws(DatabaseError) -> SharedBytes {
    if let bytes = unwrittenBytes(at: locator) { return bytes }
    if let bytes = state.segments.mappedBytes(at: locator) {
      _ = bytes.prefetchEachCacheLine()
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
    damage(at: locator, StoredDocument.wrongRecord).about(id)
  }

  /// Returns the error for a damaged record.
  func damage(at locator: RecordLocator, size: Int? = nil, _ reason: String) -> DatabaseError {
    DatabaseError(
      Damage(
        path: path(of: locator), offset: Int(clamping: locator.offset), size: size, reason: reason))
  }

  /// Returns the path of a locator's file, or of the store's directory if there is no such file.
  private func path(of locator: RecordLocator) -> String {
    state.segments[locator.fileID]?.file.path ?? environment.path
  }
}

extension ReadView {
  /// Decodes a record that a scan of the log returned.
  func decode(_ item: RecordScan.Entry) throws(DatabaseError) -> LogRecord {
    do throws(ByteError) {
      return try LogRecord(item.record)
    } catch {
      throw damage(at: item.locator, error.reason)
    }
  }
}

extension ReadView {
  /// Returns the document of a record whose ID is known to be valid UTF-8.
  @inline(__always)
  func document(of record: consuming StoredDocument) -> Document {
    let layout = record.layout
    let attachments = record.details.map { self.attachments($0.attachments) } ?? [:]
    return Document(record.takePayload(), layout, attachments: attachments)
  }

  /// Does the same for a decoded record.
  func document(_ id: String, of record: DocumentRecord) -> Document {
    Document(
      id: id, revision: record.revision, parent: record.parent, sequence: record.sequence,
      isDeleted: record.isDeleted, body: record.body,
      attachments: record.details.map { attachments($0.attachments) } ?? [:])
  }
}

extension DatabaseError {
  /// Returns the same error, with a document ID.
  fileprivate func about(_ documentID: String?) -> DatabaseError {
    var error = self
    error.documentID = documentID
    return error
  }
}
