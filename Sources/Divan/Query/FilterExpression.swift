/// What a ``Filter`` says, as it is planned, explained and compiled.
indirect enum FilterExpression: Sendable {
  case all
  case nothing
  case not(FilterExpression)
  case and([FilterExpression])
  case or([FilterExpression])
  case test(QueryPath, FilterTest)
  /// Whether an element of what is found fulfils another expression, whose paths begin at the element.
  case anyElement(QueryPath, FilterExpression)
  /// Whether all of them do.
  case everyElement(QueryPath, FilterExpression)
  /// What only code can say of a document, and how it is called in words.
  case custom(String, @Sendable (EncodedValue) -> Bool)
  /// What cannot be run, and why.
  case refused(DatabaseError)
}

/// What is asked of one value.
enum FilterTest: Sendable {
  enum Order: String, Sendable {
    case less = "<"
    case lessOrEqual = "≤"
    case greater = ">"
    case greaterOrEqual = "≥"
  }

  enum TextPlace: UInt8, Sendable {
    case beginning, anywhere, end, pattern, whole
  }

  case equal(Value)
  case order(Order, Value)
  case oneOf([Value])
  case text(TextPlace, String, TextDifferences)
  /// Whether there is no such property, which null is.
  case isMissing
}

extension FilterExpression {
  /// A condition on the elements of an array, whose paths begin at the element; refused if it asks for anything else.
  init(ofElementsAt array: QueryPath, _ condition: (QueryPath) -> Filter) {
    let element = QueryPath.newElement()
    self = condition(element).expression.beginning(at: element.origin, array)
  }

  /// The same with paths that begin at 0, if all of them begin at `origin`, or are those of conditions within it.
  private func beginning(at origin: Int, _ array: QueryPath) -> FilterExpression {
    func own(_ path: QueryPath, _ make: (QueryPath) -> FilterExpression) -> FilterExpression {
      guard path.origin == origin || path.isDocumentID else {
        return .refused(
          DatabaseError(
            .invalidQuery,
            "a condition on the elements of \"\(array)\" asks for something else: \"\(path)\"",
            hint: "Ask for it beside the condition, joined with &&"))
      }
      var path = path
      path.origin = 0
      return make(path)
    }
    switch self {
    case .all, .nothing, .custom, .refused: return self
    case .not(let part): return .not(part.beginning(at: origin, array))
    case .and(let parts): return .and(parts.map { $0.beginning(at: origin, array) })
    case .or(let parts): return .or(parts.map { $0.beginning(at: origin, array) })
    case .test(let path, let test): return own(path) { .test($0, test) }
    case .anyElement(let path, let part): return own(path) { .anyElement($0, part) }
    case .everyElement(let path, let part): return own(path) { .everyElement($0, part) }
    }
  }

  /// The parts that this is made of with `&&`.
  var andParts: [FilterExpression] { if case .and(let parts) = self { parts } else { [self] } }
  /// The parts that this is made of with `||`.
  var orParts: [FilterExpression] { if case .or(let parts) = self { parts } else { [self] } }

  /// The parts that must all be true.
  var conjuncts: [FilterExpression] {
    switch self {
    case .all: []
    case .and(let parts): parts.flatMap(\.conjuncts)
    case .not(.or(let parts)): parts.flatMap { FilterExpression.not($0).conjuncts }
    case .not(.not(let part)): part.conjuncts
    default: [self]
    }
  }

  /// Parts of which all must be true, joined.
  static func joining(_ parts: [FilterExpression]) -> FilterExpression {
    parts.isEmpty ? .all : parts.count == 1 ? parts[0] : .and(parts)
  }

  /// Throws if a part cannot be run, as the first of these says.
  func refuse() throws(DatabaseError) {
    switch self {
    case .all, .nothing, .custom: break
    case .test(let path, _): if path.isTooLong { throw QueryPath.tooLong.error }
    case .not(let part): try part.refuse()
    case .anyElement(let path, let part), .everyElement(let path, let part):
      if path.isTooLong { throw QueryPath.tooLong.error }
      try part.refuse()
    case .and(let parts), .or(let parts): for part in parts { try part.refuse() }
    case .refused(let error): throw error
    }
  }

  /// Why this cannot be run, if it cannot.
  var refusal: DatabaseError? {
    do throws(DatabaseError) {
      try refuse()
      return nil
    } catch {
      return error
    }
  }

  /// Whether other documents than the one that is looked at have a say.
  var followsReferences: Bool {
    switch self {
    case .all, .nothing, .refused, .custom: false
    case .not(let part): part.followsReferences
    case .and(let parts), .or(let parts): parts.contains(where: \.followsReferences)
    case .test(let path, _): path.followsReferences
    case .anyElement(let path, let part), .everyElement(let path, let part):
      path.followsReferences || part.followsReferences
    }
  }
}

// MARK: - In words

extension FilterExpression: CustomStringConvertible {
  var description: String {
    switch self {
    case .all: "everything"
    case .nothing: "nothing"
    case .not(let part): "not (\(part))"
    case .and(let parts): parts.map { $0.inParentheses }.joined(separator: " and ")
    case .or(let parts): parts.map { $0.inParentheses }.joined(separator: " or ")
    case .test(let path, let test): "\(path) \(test)"
    case .anyElement(let path, let part): "any of \(path) (\(part))"
    case .everyElement(let path, let part): "all of \(path) (\(part))"
    case .custom(let name, _): name
    case .refused(let error): "refused (\(error.message))"
    }
  }

  private var inParentheses: String {
    switch self {
    case .and, .or: "(\(self))"
    default: description
    }
  }
}

extension FilterTest: CustomStringConvertible {
  var description: String {
    switch self {
    case .equal(let value): "= \(value.json)"
    case .order(let order, let value): "\(order.rawValue) \(value.json)"
    case .oneOf(let values): "in \(Value.array(values).json)"
    case .text(let place, let text, let ignored):
      [place.words, Value.string(text).json, ignored.description].filter { !$0.isEmpty }
        .joined(separator: " ")
    case .isMissing: "is missing"
    }
  }
}

extension FilterTest.TextPlace {
  fileprivate var words: String {
    switch self {
    case .beginning: "begins with"
    case .anywhere: "contains text"
    case .end: "ends with"
    case .pattern: "looks like"
    case .whole: "is"
    }
  }
}
