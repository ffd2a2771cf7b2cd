import DivanLog

/// Equal expressions have the same parts in the same order, and so match the same documents.
///
/// Expressions that are written differently may match the same documents and are not equal.
extension FilterExpression: Equatable {
  static func == (a: FilterExpression, b: FilterExpression) -> Bool {
    switch (a, b) {
    case (.all, .all), (.nothing, .nothing): true
    case (.not(let a), .not(let b)): a == b
    case (.and(let a), .and(let b)), (.or(let a), .or(let b)): a == b
    case (.test(let pathA, let testA), .test(let pathB, let testB)):
      pathA == pathB && testA == testB
    case (.anyElement(let pathA, let partA), .anyElement(let pathB, let partB)),
      (.everyElement(let pathA, let partA), .everyElement(let pathB, let partB)):
      pathA == pathB && partA == partB
    case (.fullText(let a, _), .fullText(let b, _)): a == b
    // Conditions in code are ours, and each has a name of its own.
    case (.custom(let a, _), .custom(let b, _)): haveSameUTF8(a, b)
    case (.refused(let a), .refused(let b)): haveSameUTF8(a.description, b.description)
    default: false
    }
  }
}

extension ComparisonOperator: Equatable {
  static func == (a: ComparisonOperator, b: ComparisonOperator) -> Bool {
    switch (a, b) {
    case (.equal(let a), .equal(let b)): a == b
    case (.order(let orderA, let a), .order(let orderB, let b)): orderA == orderB && a == b
    case (.oneOf(let a), .oneOf(let b)): a == b
    case (.text(let matchA, let a, let ignoredA), .text(let matchB, let b, let ignoredB)):
      matchA == matchB && ignoredA == ignoredB && haveSameUTF8(a, b)
    case (.isMissing, .isMissing): true
    // Not `default`, with which a test of a new case would not equal itself.
    case (.equal, _), (.order, _), (.oneOf, _), (.text, _), (.isMissing, _): false
    }
  }
}
