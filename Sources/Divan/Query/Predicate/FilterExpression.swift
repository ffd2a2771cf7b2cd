/// The expression of a ``Filter``, which is planned, explained and compiled.
indirect enum FilterExpression: Sendable {
  case all
  case nothing
  case not(FilterExpression)
  case and([FilterExpression])
  case or([FilterExpression])
  case test(QueryPath, ComparisonOperator)
  /// Whether any element of an array matches another expression, whose paths begin at the element.
  case anyElement(QueryPath, FilterExpression)
  /// Whether all elements match it.
  case everyElement(QueryPath, FilterExpression)
  /// Whether the words of a document's text match; with an index once the filter is planned.
  case fullText(FullTextCondition, FullTextTest?)
  /// A condition in code, and its name in descriptions.
  case custom(String, @Sendable (EncodedValue) -> Bool)
  /// An expression that cannot be run, and the reason.
  case refused(DatabaseError)
}

extension FilterExpression {
  /// Creates a condition on the elements of an array, whose paths begin at the element.
  ///
  /// It is refused if it tests anything else.
  init(ofElementsAt array: QueryPath, _ condition: (QueryPath) -> Filter) {
    let element = QueryPath.newElement()
    self = condition(element).expression.beginning(at: element.origin, array)
  }

  /// Returns the expression with paths that begin at 0.
  ///
  /// All of its paths must begin at `origin`, or belong to conditions within it; else it is
  /// refused.
  private func beginning(at origin: Int, _ array: QueryPath) -> FilterExpression {
    func own(_ path: QueryPath, _ make: (QueryPath) -> FilterExpression) -> FilterExpression {
      guard path.origin == origin || path.isDocumentID else {
        return .refused(
          DatabaseError(
            .invalidQuery,
            "a condition on the elements of \"\(array)\" tests another property: \"\(path)\"",
            hint: "Test it outside of the condition, joined with &&"))
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
    case .fullText:
      return .refused(
        DatabaseError(
          .invalidQuery, "a condition on the elements of \"\(array)\" searches text",
          hint: "Search the array as a whole: a full-text index has the text of all elements"))
    }
  }

  /// The parts that are joined with `&&`.
  var andParts: [FilterExpression] { if case .and(let parts) = self { parts } else { [self] } }
  /// The parts that are joined with `||`.
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

  /// Joins parts that must all be true.
  static func joining(_ parts: [FilterExpression]) -> FilterExpression {
    parts.isEmpty ? .all : parts.count == 1 ? parts[0] : .and(parts)
  }

  /// Throws the error of the first part that cannot be run.
  func refuse() throws(DatabaseError) {
    switch self {
    case .all, .nothing, .custom, .fullText: break
    case .test(let path, _): if path.isTooLong { throw QueryPath.tooLong.error }
    case .not(let part): try part.refuse()
    case .anyElement(let path, let part), .everyElement(let path, let part):
      if path.isTooLong { throw QueryPath.tooLong.error }
      try part.refuse()
    case .and(let parts), .or(let parts): for part in parts { try part.refuse() }
    case .refused(let error): throw error
    }
  }

  /// The error that prevents this from being run, or nil.
  var refusal: DatabaseError? {
    do throws(DatabaseError) {
      try refuse()
      return nil
    } catch {
      return error
    }
  }

  /// Whether the result depends on documents that the tested document refers to.
  var followsReferences: Bool {
    switch self {
    case .all, .nothing, .refused, .custom, .fullText: false
    case .not(let part): part.followsReferences
    case .and(let parts), .or(let parts): parts.contains(where: \.followsReferences)
    case .test(let path, _): path.followsReferences
    case .anyElement(let path, let part), .everyElement(let path, let part):
      path.followsReferences || part.followsReferences
    }
  }
}

// MARK: - Description

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
    case .fullText(let condition, _): condition.description
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

extension Value {
  /// Whether this is NaN, to which nothing is equal, and which is not ordered.
  var isNotANumber: Bool { if case .double(let number) = self { number.isNaN } else { false } }
}
