import DivanLog

/// Finds the index of each condition on text, in one version of the store.
///
/// A condition without the name of an index is answered by an index that has its property of every
/// document that the filter may accept: a partial index only if the rest of the filter implies its
/// conditions. Of several, it is the first by its name.
struct FullTextBinding {
  let view: ReadView

  /// Returns parts of a filter that must all be true, with the indexes of their conditions.
  ///
  /// - Parameters:
  ///   - parts: the parts.
  ///   - given: other conditions that must be true wherever the result of the parts matters.
  /// - Returns: The parts, whose conditions have the index that answers them.
  /// - Throws: `notFound` if a condition has no index; `invalidQuery` if an index cannot answer its
  ///   condition, and for a past version.
  func bind(
    _ parts: [FilterExpression], given: [FilterExpression] = []
  ) throws(DatabaseError) -> [FilterExpression] {
    guard parts.contains(where: \.searchesText) else { return parts }
    var bound: [FilterExpression] = []
    for part in parts { bound.append(try bind(part, given + parts)) }
    return bound
  }

  private func bind(
    _ part: FilterExpression, _ given: [FilterExpression]
  ) throws(DatabaseError) -> FilterExpression {
    guard part.searchesText else { return part }
    switch part {
    case .fullText(let condition, _): return .fullText(condition, try test(condition, given))
    case .not(let inner): return .not(try bind(inner, given))
    case .and(let parts): return .and(try bind(parts, given: given))
    case .or(let parts):
      var alternatives: [FilterExpression] = []
      for part in parts { alternatives.append(.joining(try bind(part.conjuncts, given: given))) }
      return .or(alternatives)
    case .all, .nothing, .test, .anyElement, .everyElement, .custom, .refused: return part
    }
  }

  private func test(
    _ condition: FullTextCondition, _ given: [FilterExpression]
  ) throws(DatabaseError) -> FullTextTest {
    // A document without the text does not match, whether it is in the index or not.
    let given = Conjuncts(given + [.fullText(condition, nil)])
    return try FullTextTest(condition, try index(condition, given))
  }

  private func index(
    _ condition: FullTextCondition, _ given: Conjuncts
  ) throws(DatabaseError) -> IndexDefinition {
    // It throws if there is no index at all, and in a past version.
    let first = try view.fullTextIndex(for: condition)
    guard condition.indexName == nil, let path = condition.path else { return first }
    let fitting = view.state.indexes.filter { definition in
      definition.isReady && definition.index.fullText != nil
        && definition.index.textFields.contains { haveSameNames($0, path) }
        && definition.index.conditions.allSatisfy(given.imply)
    }
    if let found = fitting.min(by: { compareUTF8($0.index.name, $1.index.name) < 0 }) {
      return found
    }
    throw DatabaseError(
      .notFound, "no full-text index has the property for all documents that the query may find",
      hint:
        "Add the conditions of the index \(first.index.name.debugDescription) to the filter, or "
        + "name the index in `matches`, to search only the documents that it has",
      propertyPath: path.joined(separator: "."))
  }
}
