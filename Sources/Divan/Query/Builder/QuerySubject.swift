/// The subject of a query, in its conditions: `$0` in `query.filter { $0.year > 1920 }`.
///
/// ```swift
/// let recent = Query<Film>().filter { film in film.year >= 1925 }
/// let titled = Query<Document>().filter { document in document["title"] == "Nosferatu" }
/// ```
@dynamicMemberLookup
public struct QuerySubject<Subject>: Sendable {
  let path: QueryPath
  let refusal: QueryRejection?

  init(path: QueryPath = QueryPath(), refusal: QueryRejection? = nil) {
    self.path = path
    self.refusal = refusal ?? (path.isTooLong ? QueryPath.tooLong : nil)
  }
}

extension QuerySubject where Subject == Document {
  /// The document's ID; for a document reached by a reference, the property that refers to it.
  public var id: QueryProperty<String> {
    guard path.steps.last == .reference else { return QueryProperty(.documentID, refusal: refusal) }
    var path = path
    path.steps.removeLast()
    return QueryProperty(path, refusal: refusal)
  }

  /// The property of this name.
  public subscript(name: String) -> QueryProperty<Value> {
    QueryProperty(path.appending(.key(name)), refusal: refusal)
  }
}

extension QuerySubject where Subject: DocumentCodable {
  /// A property of the type that documents are read as.
  public subscript<PropertyValue>(
    dynamicMember path: KeyPath<Subject, PropertyValue>
  ) -> QueryProperty<PropertyValue> {
    if let refusal { return QueryProperty(self.path, refusal: refusal) }
    do throws(DatabaseError) {
      return QueryProperty(try CodableKeys.path(to: path, in: Subject.self, from: self.path))
    } catch {
      return QueryProperty(self.path, refusal: QueryRejection(error))
    }
  }
}
