import DivanLog

/// A filter that is evaluated on cached columns, and not on documents.
///
/// If a column does not have a document's value, or the filter reads a value that no column has,
/// the result may be unknown. A part that is known can still decide the whole, by Kleene's
/// three-valued logic.
struct ColumnFilter: Sendable {
  /// The properties whose columns are read.
  let paths: [QueryPath]
  /// The tests of column values.
  let tests: [Test]
  private let root: Part

  /// A test of the value in one column.
  struct Test: Sendable {
    /// The column's index in ``paths``.
    let column: Int
    fileprivate let filter: CompiledFilter
    /// The result if there is no value.
    fileprivate let truthOfMissing: Truth
  }

  /// The result for a document.
  ///
  /// `&&` returns the least of several, and `||` the greatest.
  enum Truth: UInt8, Sendable {
    case refused = 0
    case unknown = 1
    case accepted = 2
  }

  private indirect enum Part: Sendable {
    case known(Truth)
    /// The test at an index.
    case test(Int)
    case not(Part)
    case and([Part])
    case or([Part])
  }

  /// The maximum number of columns that a filter reads.
  private static let columnLimit = 8

  /// Creates a filter on columns; nil if columns cannot decide any part of it.
  init?(_ filter: FilterExpression) {
    var builder = Builder()
    root = builder.part(filter)
    guard !builder.paths.isEmpty, builder.paths.count <= ColumnFilter.columnLimit else {
      return nil
    }
    paths = builder.paths
    tests = builder.tests
  }
}

extension ColumnFilter.Test {
  /// Returns the result for a value in its stored form; no bytes mean that there is no value.
  func truth(of value: [UInt8]) -> ColumnFilter.Truth {
    if value.isEmpty { return truthOfMissing }
    var row = QueryRow(references: nil)
    row.payload = SharedBytes(copying: value)
    // If the bytes are not a value, reading the document reports that.
    guard let isAccepted = try? filter.accepts(row) else { return .unknown }
    return isAccepted ? .accepted : .refused
  }
}

extension ColumnFilter {
  /// Returns the filter's result, given the results of the tests in their order.
  func truth(_ testResults: [Truth]) -> Truth { truth(root, testResults) }

  private func truth(_ part: Part, _ testResults: [Truth]) -> Truth {
    switch part {
    case .known(let truth): return truth
    case .test(let index): return testResults[index]
    case .not(let part): return truth(part, testResults).opposite
    case .and(let parts):
      var least = Truth.accepted
      for part in parts where least != .refused { least = min(least, truth(part, testResults)) }
      return least
    case .or(let parts):
      var greatest = Truth.refused
      for part in parts where greatest != .accepted {
        greatest = max(greatest, truth(part, testResults))
      }
      return greatest
    }
  }
}

extension ColumnFilter {
  /// Returns the filter's result for each of several documents, given the results of the tests.
  func truths(_ testResults: [[Truth]], count: Int) -> [Truth] {
    func join(_ parts: [Part], _ start: Truth, _ choose: (Truth, Truth) -> Truth) -> [Truth] {
      var joined = [Truth](repeating: start, count: count)
      for part in parts {
        let truths = truths(part)
        for index in 0..<count { joined[index] = choose(joined[index], truths[index]) }
      }
      return joined
    }
    func truths(_ part: Part) -> [Truth] {
      switch part {
      case .known(let truth): Array(repeating: truth, count: count)
      case .test(let index): testResults[index]
      case .not(let part): truths(part).map(\.opposite)
      case .and(let parts): join(parts, .accepted) { $0 < $1 ? $0 : $1 }
      case .or(let parts): join(parts, .refused) { $0 < $1 ? $1 : $0 }
      }
    }
    return truths(root)
  }
}

extension ColumnFilter.Truth: Comparable {
  @inline(__always)
  static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

  fileprivate var opposite: Self {
    switch self {
    case .refused: .accepted
    case .unknown: .unknown
    case .accepted: .refused
    }
  }
}

// MARK: - Building

extension ColumnFilter {
  /// Collects the tests of a filter.
  private struct Builder {
    var paths: [QueryPath] = []
    var tests: [Test] = []

    mutating func part(_ filter: FilterExpression) -> Part {
      switch filter {
      case .all: .known(.accepted)
      case .nothing: .known(.refused)
      case .custom, .refused: .known(.unknown)
      case .not(let inner): .not(part(inner))
      case .and(let parts): .and(parts.map { part($0) })
      case .or(let parts): .or(parts.map { part($0) })
      case .test(let path, let test): part(path) { .test($0, test) }
      case .anyElement(let path, let inner): part(path) { .anyElement($0, inner) }
      case .everyElement(let path, let inner): part(path) { .everyElement($0, inner) }
      }
    }

    /// Returns the test of the value at a path.
    private mutating func part(
      _ path: QueryPath, _ makeTest: (QueryPath) -> FilterExpression
    ) -> Part {
      guard !path.steps.isEmpty, makeTest(path).dependsOnValuesOnly else { return .known(.unknown) }
      var (column, value, absent) = (path, path, path)
      column.measure = .value
      value.steps = []
      absent.steps = [.key("")]
      var empty = QueryRow(references: nil)
      empty.payload = Builder.emptyObject
      guard let acceptsMissing = try? CompiledFilter(makeTest(absent)).accepts(empty) else {
        return .known(.unknown)
      }
      let index = paths.firstIndex(of: column) ?? paths.count
      if index == paths.count { paths.append(column) }
      tests.append(
        Test(
          column: index, filter: CompiledFilter(makeTest(value)),
          truthOfMissing: acceptsMissing ? .accepted : .refused))
      return .test(tests.count - 1)
    }

    /// An object that has no value at any path.
    private static let emptyObject: SharedBytes = {
      var writer = ByteWriter()
      writer.append(ValueFormat.Tag.object)
      return writer.sharedCopy
    }()
  }
}

extension FilterExpression {
  /// Whether the result depends only on the document's values at its paths.
  fileprivate var dependsOnValuesOnly: Bool {
    switch self {
    case .all, .nothing: true
    case .custom, .refused: false
    case .not(let part): part.dependsOnValuesOnly
    case .and(let parts), .or(let parts): parts.allSatisfy(\.dependsOnValuesOnly)
    case .test(let path, _): path.leadsToValue
    case .anyElement(let path, let part), .everyElement(let path, let part):
      path.leadsToValue && part.dependsOnValuesOnly
    }
  }
}

extension QueryPath {
  fileprivate var leadsToValue: Bool { !isDocumentID && !followsReferences }
}
