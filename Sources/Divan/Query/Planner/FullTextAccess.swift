import DivanLog

/// A search in a full-text index.
///
/// It is an object, because plans and executions pass it on. The search that made the estimate is
/// executed, too, so that its terms are looked up once.
final class FullTextAccess {
  let condition: FullTextCondition
  let definition: IndexDefinition
  /// The estimated number of matches, at least as many as there are.
  let estimatedCount: Int
  /// The query, as the index reads it.
  private let text: String
  private var search: FullTextSearch?

  init(
    _ condition: FullTextCondition, _ definition: IndexDefinition, in view: ReadView
  ) throws(DatabaseError) {
    self.condition = condition
    self.definition = definition
    let search = try FullTextSearch(condition, definition, in: view)
    estimatedCount = search.estimatedCount
    let path = definition.index.textFields.count > 1 ? condition.path : nil
    text = path.map { $0.joined(separator: ".") + ":(\(search.description))" } ?? search.description
    self.search = search
  }

  /// Returns a search at its beginning.
  func takeSearch(in view: ReadView) throws(DatabaseError) -> FullTextSearch {
    if let search = search.take() { return search }
    return try FullTextSearch(condition, definition, in: view)
  }
}

extension FullTextAccess: CustomStringConvertible {
  var description: String { "full-text index " + nameAndQuery }

  /// The name of the index, and the query as text.
  var nameAndQuery: String { "\(definition.index.name.debugDescription): \(text)" }
}

/// The searches of one query, each of which is made once.
final class FullTextAccesses {
  private var known: [ObjectIdentifier: FullTextAccess] = [:]

  /// Returns the search for a condition.
  func access(
    _ condition: FullTextCondition, _ test: FullTextTest, in view: ReadView
  ) throws(DatabaseError) -> FullTextAccess {
    // The tests live as long as the filter, which the planner has.
    if let access = known[ObjectIdentifier(test)] { return access }
    let access = try FullTextAccess(condition, test.definition, in: view)
    known[ObjectIdentifier(test)] = access
    return access
  }
}
