import DivanLog

// Conditions on the words of text.

extension QueryProperty where PropertyValue: _QueryFullText {
  /// Whether the words of the text match a full-text query.
  ///
  /// ```swift
  /// let urgent = Query<Note>().filter { $0.text.matches(.fullText("urgent milk*")) }
  /// let best = try snapshot.find(urgent.sort(.relevance).limit(10))
  /// ```
  ///
  /// A full-text index must have the property: its options determine the words. Of an array, the
  /// elements are searched together. A document without the text does not match. Predicates of
  /// Foundation have no such condition: join it to them as another filter.
  ///
  /// Executing the query throws ``DatabaseError/Code/notFound`` if no index has the property for
  /// all documents that the query may find, and ``DatabaseError/Code/invalidQuery`` in a snapshot
  /// of the past, for which there is no index.
  ///
  /// - Parameters:
  ///   - query: The words, in the query language.
  ///   - index: The name of the index to search; nil for the first by its name that has the
  ///     property for all documents that the query may find. Documents that a named index does not
  ///     have do not match.
  /// - Returns: A filter for the documents that match.
  public func matches(_ query: FullTextQuery, index: String? = nil) -> Filter {
    if let refusal { return Filter(.refused(refusal.error)) }
    guard path.origin == 0, let keys = path.keys else {
      return Filter(.refused(QueryPath.notSearched(path)))
    }
    return Filter(.fullText(FullTextCondition(query: query, path: keys, indexName: index), nil))
  }
}

extension Filter {
  /// A filter for documents whose text in any property of an index matches a full-text query.
  ///
  /// ```swift
  /// let query = Query<Note>().filter(.matches(.fullText("urgent title:milk*"), index: "text"))
  /// let open = Query<Note>().filter { !$0.done && .matches(.fullText("milk"), index: "text") }
  /// ```
  ///
  /// The words may be in different properties. See ``QueryProperty/matches(_:index:)`` for one
  /// property, and for the errors.
  ///
  /// - Parameters:
  ///   - query: The words, in the query language.
  ///   - index: The name of the index. Documents that are not in it do not match.
  /// - Returns: A filter for the documents that match.
  public static func matches(_ query: FullTextQuery, index: String) -> Filter {
    Filter(.fullText(FullTextCondition(query: query, path: nil, indexName: index), nil))
  }
}

extension QueryPath {
  /// Returns the error for a search in a value that no full-text index has.
  fileprivate static func notSearched(_ path: QueryPath) -> DatabaseError {
    let hint =
      if path.origin != 0 {
        "Search the array as a whole: a full-text index has the text of all elements"
      } else if path.followsReferences {
        "Search the documents that are referred to with a query of their own"
      } else {
        "Search a property of the document"
      }
    return DatabaseError(
      .invalidQuery, "a full-text condition is on \"\(path)\", which is no property of an index",
      hint: hint, propertyPath: path.description)
  }
}
