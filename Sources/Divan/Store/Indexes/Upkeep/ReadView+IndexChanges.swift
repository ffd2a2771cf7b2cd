import DivanLog

extension ReadView {
  /// Throws if more than one document has an entry that begins with an index's number and values.
  func requireUnique(_ prefix: [UInt8], of name: String) throws(DatabaseError) {
    var scan = state.catalog.scan(from: .inclusive(prefix), to: .end(ofPrefix: prefix))
    var first: String?
    while let item = try step(&scan) {
      guard let (value, bytes) = IndexEntries.read(item),
        value.count == prefix.count - IndexEntries.prefixSize, let id = bytes.text
      else { continue }
      guard let other = first else {
        first = id
        continue
      }
      throw DatabaseError(
        .notUnique,
        "the documents \(other.debugDescription) and \(id.debugDescription) have the same value in the "
          + "unique index \(name.debugDescription)",
        hint: "Give one of them another value, or create the index without `isUnique`",
        documentID: id)
    }
  }
}
