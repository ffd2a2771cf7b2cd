/// The way to what a query looks at in a document.
struct QueryPath: Sendable, Hashable {
  enum Step: Sendable, Hashable {
    /// To a property of an object.
    case key(String)
    /// To an element of an array, from 0 on.
    case element(Int)
    /// From a text to the document that has it as its ID.
    case reference
  }

  /// What is looked at once the way was gone.
  enum Measure: Sendable, Hashable {
    case value
    /// How many elements there are.
    case count
  }

  var steps: [Step] = []
  var measure = Measure.value
  /// Whether the document's ID is meant, and not a property; then there are no steps.
  var isDocumentID = false

  static let documentID = QueryPath(isDocumentID: true)

  func appending(_ step: Step) -> QueryPath {
    precondition(!isDocumentID, "A document's ID has no properties")
    var path = self
    path.steps.append(step)
    return path
  }
}

extension QueryPath {
  /// The names of the way, if it leads through objects only: what an index can be on.
  var keys: [String]? {
    guard measure == .value, !isDocumentID, !steps.isEmpty else { return nil }
    var keys: [String] = []
    for step in steps {
      guard case .key(let key) = step else { return nil }
      keys.append(key)
    }
    return keys
  }

  /// Whether other documents have a say in what is found.
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
