import DivanLog

/// A property that is read from the results of a query, as its type.
struct ProjectedProperty<V: Decodable> {
  private let path: CompiledPath
  private let name: String
  /// The value that is used where a document has none, with its stored form; nil if there is none.
  private let missing: (value: V, stored: Value)?

  init(_ property: QueryProperty<V>) throws(DatabaseError) {
    if let refusal = property.refusal { throw refusal.error }
    path = CompiledPath(property.path)
    name = property.path.description
    if let declared = property.declared, let value = PropertyType.read(declared, as: V.self) {
      missing = (value, declared)
    } else {
      missing = PropertyType.read(.null, as: V.self).map { ($0, .null) }
    }
  }

  /// Returns the property of a result, and its stored form.
  ///
  /// - Throws: `mismatchedType` if the document has no value of the type, and there is no other for
  ///   this case.
  func read(_ row: borrowing QueryRow) throws(DatabaseError) -> (value: V, stored: Value) {
    if let stored = try row.value(at: path), !stored.isNull,
      let value = PropertyType.read(stored, as: V.self)
    {
      return (value, stored)
    }
    if let missing { return missing }
    throw DatabaseError(
      .mismatchedType, "the property \(name) is not a value of the type \(V.self)",
      hint: "Use `.optional` in the query to read such values as nil", documentID: row.id.text)
  }
}
