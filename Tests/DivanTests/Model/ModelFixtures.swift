import Divan
import DivanLog
import Foundation
import ProofKit

/// A model with a property of every type.
class Everything: Model {
  @Persisted var flag: Bool
  @Persisted var count: Int
  @Persisted var ratio: Double
  @Persisted var text: String
  @Persisted var date = Date(timeIntervalSince1970: 0)
  @Persisted var maybeFlag: Bool?
  @Persisted var maybeCount: Int?
  @Persisted var maybeRatio: Double?
  @Persisted var maybeText: String?
  @Persisted var maybeDate: Date?
  @Persisted var flags: [Bool]
  @Persisted var counts: [Int]
  @Persisted var ratios: [Double]
  @Persisted var texts: [String]
  @Persisted var dates: [Date]
  @Persisted var maybeTexts: [String]?
  @Persisted var other: Everything?
  override class var documentType: String? { nil }
}

class TodoList: Model {
  @Persisted var title: String
  @Persisted var first: Todo?
  override class var documentType: String? { nil }
}

class Todo: Model {
  @Persisted var text: String = ""
  @Persisted(key: "due_date") var due: Date?
  @Persisted var done = false
  @Persisted var priority = 3
  @Persisted var tags: [String]
  @Persisted var list: TodoList?
  var isSelected = false
  override class var documentType: String? { nil }
}

final class UrgentTodo: Todo {
  @Persisted var escalation = 1
}

class Person: Model {
  @Persisted(key: "full name") var name: String
  override class var documentType: String? { "person" }
}

extension Database {
  /// Returns the JSON of a document.
  func json(_ id: String) throws -> String? { try read { try $0.document(id)?.json } }

  /// Deletes a document.
  func remove(_ id: String) throws { _ = try write { try $0.delete(id) } }

  /// Stores a document with the given JSON.
  func put(_ id: String, _ json: String) throws {
    guard case .object(let object) = try Value(json: json) else { return }
    try write { _ = try $0.replace(id, with: object) }
  }
}

/// Records the codes of all errors that a context reports.
func errors(of context: ModelContext) -> Recorder<DatabaseError.Code> {
  let codes = Recorder<DatabaseError.Code>()
  context.errorHandler = { error in
    if let error = error as? DatabaseError { codes.append(error.code) }
  }
  return codes
}
