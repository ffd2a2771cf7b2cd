import DivanLog

extension Snapshot {
  /// Returns the properties of a local document; nil if there is none of this ID.
  ///
  /// *Local documents* hold a program's notes about its store: positions, settings, the state of an
  /// exchange. They have IDs of their own, which may be the same as documents', no revisions, and
  /// no conflicts: the last write wins. They are not counted, not listed among the documents, and
  /// not in change feeds. Past versions of the database have none.
  ///
  /// Costs one search in the index and one read.
  public func localDocument(_ id: String) throws -> Value.Object? { try view.localDocument(id) }

  /// Returns the IDs of the local documents in a range, in the order of their bytes.
  ///
  /// Reads only the index.
  public func localDocumentIDs(_ range: IDRange = .all) throws -> [String] {
    try view.localDocumentIDs(range)
  }
}

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

extension ReadView {
  fileprivate func localLocator(_ id: String) throws(DatabaseError) -> RecordLocator? {
    try locator(in: \.catalog, CatalogKey.local(SharedBytes(utf8: id)))
  }

  fileprivate func localDocument(_ id: String) throws(DatabaseError) -> Value.Object? {
    try localBody(id)?.decode().objectValue
  }

  /// Returns the properties of a local document, which are an object, in their binary form.
  func localBody(_ id: String) throws(DatabaseError) -> EncodedValue? {
    guard past == nil, let locator = try localLocator(id) else { return nil }
    let record = try localRecord(at: locator)
    guard record.idBytes.isUTF8(of: id), let body = record.body.map(EncodedValue.init),
      body.kind == .object
    else { throw damage(at: locator, "no such local document stands here") }
    return body
  }

  fileprivate func localDocumentIDs(_ range: IDRange) throws(DatabaseError) -> [String] {
    guard past == nil else { return [] }
    var scan = scanLocalDocuments(range)
    var ids: [String] = []
    while let id = try nextLocalDocument(&scan) { ids.append(id) }
    return ids
  }

  /// Begins a scan over the IDs of local documents.
  func scanLocalDocuments(_ range: IDRange) -> LayeredScan {
    state.catalog.scan(
      from: CatalogKey.bound(range.lower, of: .local) ?? .inclusive(CatalogKey.first(of: .local)),
      to: CatalogKey.bound(range.upper, of: .local)
        ?? .end(ofPrefix: CatalogKey.first(of: .local)))
  }

  /// Returns the ID of the next local document; nil at the end.
  func nextLocalDocument(_ scan: inout LayeredScan) throws(DatabaseError) -> String? {
    guard let item = try step(&scan) else { return nil }
    guard let id = item.key.suffix(from: 1).text else {
      throw DatabaseError(
        .damaged, "the ID of a local document that is no text", path: store.path)
    }
    return id
  }

  /// Reads the record of a local document.
  func localRecord(at locator: RecordLocator) throws(DatabaseError) -> LocalDocumentRecord {
    let payload = try payload(of: .local, at: locator)
    do throws(ByteError) {
      return try LocalDocumentRecord.decode(payload)
    } catch {
      throw damage(at: locator, error.reason)
    }
  }
}

extension CatalogKey {
  /// The key before all entries of a kind.
  static func first(of kind: Kind) -> [UInt8] { [kind.rawValue] }

  /// Converts the bound of a range of names to one of keys; nil if the range has none on that side.
  static func bound(_ bound: KeyBound, of kind: Kind) -> KeyBound? {
    switch bound {
    case .unbounded: nil
    case .inclusive(let name): .inclusive([kind.rawValue] + name)
    case .exclusive(let name): .exclusive([kind.rawValue] + name)
    }
  }
}
