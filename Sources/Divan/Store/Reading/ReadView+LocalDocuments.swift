import DivanLog

extension ReadView {
  func localLocator(_ id: String) throws(DatabaseError) -> RecordLocator? {
    try locator(in: \.catalog, CatalogKey.local(SharedBytes(utf8: id)))
  }

  func localDocument(_ id: String) throws(DatabaseError) -> Value.Object? {
    try localProperties(id)?.decode().objectValue
  }

  /// Returns the properties of a local document, which are an object, in their binary form.
  func localProperties(_ id: String) throws(DatabaseError) -> EncodedValue? {
    guard past == nil, let locator = try localLocator(id) else { return nil }
    let record = try localRecord(at: locator)
    guard record.idBytes.isUTF8(of: id), let properties = record.body.map(EncodedValue.init),
      properties.kind == .object
    else { throw damage(at: locator, "the record is not the local document that the index names") }
    return properties
  }

  func localDocumentIDs(_ range: IDRange) throws(DatabaseError) -> [String] {
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
        .damaged, "the ID of a local document is not UTF-8", path: environment.path)
    }
    return id
  }

  /// Reads the record of a local document.
  func localRecord(at locator: RecordLocator) throws(DatabaseError) -> LocalDocumentRecord {
    let payload = try payload(of: .localDocument, at: locator)
    do throws(ByteError) {
      return try LocalDocumentRecord.decode(payload)
    } catch {
      throw damage(at: locator, error.reason)
    }
  }
}
