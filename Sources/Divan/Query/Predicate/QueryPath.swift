import DivanLog
import Synchronization

/// A path to the value that a query reads in a document.
struct QueryPath: Sendable, Hashable {
  enum Step: Sendable, Hashable {
    /// To a property of an object.
    case key(String)
    /// To an element of an array, from 0 on.
    case element(Int)
    /// From a text to the document that has it as its ID.
    case reference

    // Names are compared by their bytes, as in documents.
    static func == (a: Step, b: Step) -> Bool {
      switch (a, b) {
      case (.key(let a), .key(let b)): haveSameUTF8(a, b)
      case (.element(let a), .element(let b)): a == b
      case (.reference, .reference): true
      default: false
      }
    }

    func hash(into hasher: inout Hasher) {
      switch self {
      case .key(let key): for byte in key.utf8 { hasher.combine(byte) }
      case .element(let index): hasher.combine(index)
      case .reference: hasher.combine(-1)
      }
    }
  }

  /// The value that is read at the end of the path.
  enum Measure: Sendable, Hashable {
    case value
    /// The number of elements.
    case count
  }

  var steps: [Step] = []
  var measure = Measure.value
  /// Whether the path is the document's ID, and not a property; then there are no steps.
  var isDocumentID = false

  /// The beginning of the path: 0 for the document, otherwise the element that a condition tests.
  var origin = 0

  static let documentID = QueryPath(isDocumentID: true)

  private static let lastElement = Atomic(0)

  /// Returns an empty path that begins at the elements of an array, for a condition on them.
  static func newElement() -> QueryPath {
    QueryPath(origin: lastElement.wrappingAdd(1, ordering: .relaxed).newValue)
  }

  func appending(_ step: Step) -> QueryPath {
    require(!isDocumentID, "A document's ID has no properties")
    // A path that is too long is refused, so it need not grow.
    guard !isTooLong else { return self }
    var path = self
    path.steps.append(step)
    return path
  }
}

extension QueryPath {
  /// The maximum number of steps.
  ///
  /// No document is nested that deep, and queries need not follow that many references.
  static let stepLimit = 256

  var isTooLong: Bool { steps.count > QueryPath.stepLimit }

  static let tooLong = QueryRejection(
    DatabaseError(
      .invalidQuery, "a path has more than \(stepLimit) steps",
      hint: "Documents are nested \(DocumentLimits.depth) deep at most"))

  /// The names in the path, if it leads only through objects: an index can be on such a path.
  var keys: [String]? {
    guard measure == .value, !isDocumentID, !steps.isEmpty else { return nil }
    var keys: [String] = []
    for step in steps {
      guard case .key(let key) = step else { return nil }
      keys.append(key)
    }
    return keys
  }

  /// Whether this is the path of the property that an index is on.
  func leads(to indexPath: [String]) -> Bool {
    guard measure == .value, !isDocumentID, !steps.isEmpty, steps.count == indexPath.count else {
      return false
    }
    for (step, name) in zip(steps, indexPath) {
      guard case .key(let key) = step, haveSameUTF8(key, name) else { return false }
    }
    return true
  }

  /// Whether the value depends on other documents.
  var followsReferences: Bool { steps.contains(.reference) }
}

extension QueryPath: CustomStringConvertible {
  var description: String {
    if isDocumentID { return "id" }
    var text = ""
    for step in steps {
      switch step {
      case .key(let key): text += (text.isEmpty ? "" : ".") + key
      case .element(let index): text += "[\(index)]"
      case .reference: text += "→"
      }
    }
    if text.isEmpty { text = "it" }
    return measure == .count ? "\(text).count" : text
  }
}
