import DivanLog

extension WriteTransaction {
  /// Returns the properties of a local document; nil if there is none of this ID.
  public func localDocument(_ id: String) throws -> Value.Object? {
    try check()
    return try view.localDocument(id)
  }

  /// Stores a local document over any existing one; see ``Snapshot/localDocument(_:)``.
  ///
  /// Validations are not called.
  /// - Throws: ``DatabaseError`` with the codes `invalidDocumentID`, `invalidValue`,
  ///   `documentTooLarge`, `transactionTooLarge` or `closed`. The rules for IDs and properties are
  ///   those of documents.
  public func putLocal(_ id: String, _ properties: Value.Object) throws {
    try check()
    try DocumentID.validate(id)
    let body = try Document(id: id, properties).encoded().bytes
    try append(
      LocalDocumentRecord(
        idBytes: SharedBytes(utf8: id), superseded: try view.localLocator(id), body: body), id)
  }

  /// Removes a local document; returns false if there is none.
  @discardableResult
  public func removeLocal(_ id: String) throws -> Bool {
    try check()
    guard let superseded = try view.localLocator(id) else { return false }
    try append(
      LocalDocumentRecord(idBytes: SharedBytes(utf8: id), superseded: superseded, body: nil), id)
    return true
  }

  /// Appends the record of a local document and puts it into the index.
  func append(_ record: LocalDocumentRecord, _ id: String?) throws(DatabaseError) {
    let place = try append(.local, id: id) { writer in record.encode(to: &writer) }
    state.put(record, at: place, scratch: &entryScratch)
  }
}
