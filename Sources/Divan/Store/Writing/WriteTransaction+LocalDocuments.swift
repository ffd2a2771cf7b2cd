import DivanLog

extension WriteTransaction {
  /// Returns the properties of a local document; nil if there is none with this ID.
  public func localDocument(_ id: String) throws -> Value.Object? {
    try check()
    return try view.localDocument(id)
  }

  /// Stores a local document over any existing one; see ``Snapshot/localDocument(_:)``.
  ///
  /// Validations are not called.
  /// - Throws: ``DatabaseError`` with the codes `invalidDocumentID`, `invalidValue`,
  ///   `documentTooLarge`, `transactionTooLarge` or `closed`. IDs and properties follow the rules
  ///   for documents.
  public func putLocal(_ id: String, _ properties: Value.Object) throws {
    try check()
    try DocumentID.validate(id)
    let encoded = try Document(id: id, properties).encoded().bytes
    try append(
      LocalDocumentRecord(
        idBytes: SharedBytes(utf8: id), superseded: try view.localLocator(id), body: encoded), id)
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

  /// Appends the record of a local document and indexes it.
  func append(_ record: LocalDocumentRecord, _ id: String?) throws(DatabaseError) {
    let locator = try appendRecord(.localDocument, id: id) { writer in record.encode(to: &writer) }
    state.put(record, at: locator, scratch: &entryScratch)
  }
}
