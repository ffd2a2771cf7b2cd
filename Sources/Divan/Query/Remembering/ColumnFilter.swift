import DivanLog

/// A filter that is asked of what columns have, and not of documents.
///
/// Where a column does not say what a document has, or the filter looks at what no column has, the answer may be that nobody knows:
/// a part that is known can decide about the whole all the same (the logic of three values that Kleene described).
struct ColumnFilter: Sendable {
  /// The properties whose columns are asked.
  let paths: [QueryPath]
  private let root: Part

  fileprivate indirect enum Part: Sendable {
    case known(Bool)
    case unknown
    /// What is asked of the value of a column, and what is said where there is none.
    case value(column: Int, CompiledFilter, ofMissing: Bool?)
    case not(Part)
    case and([Part])
    case or([Part])
  }

  /// How many columns a filter asks at most.
  private static let columnLimit = 8

  /// Nil if columns can say nothing of the filter.
  init?(_ filter: FilterExpression) {
    var paths: [QueryPath] = []
    root = Part(filter, &paths)
    guard !paths.isEmpty, paths.count <= ColumnFilter.columnLimit else { return nil }
    self.paths = paths
  }
}

extension ColumnFilter {
  /// What the filter says of the documents of a page; nil of those of which columns do not know enough.
  ///
  /// - Parameter pages: that page of each column, in the order of ``paths``; nil where nothing is known.
  func verdicts(_ pages: [ColumnPage?]) -> [FilterVerdict?] {
    precondition(pages.count == paths.count, "Another number of columns")
    let truths = truths(root, pages)
    var verdicts = truths.map { truth -> FilterVerdict? in
      truth == Truth.unknown ? nil : truth == Truth.accepted ? .accepted : .refused
    }
    for page in pages.compactMap({ $0 }) {
      for (offset, code) in page.codes.enumerated() where code == ColumnPage.deleted {
        verdicts[offset] = .deleted
      }
    }
    return verdicts
  }

  /// What a part may say, as numbers in an order in which the least is what `&&` makes of several, and the greatest what `||`
  /// makes of them.
  private enum Truth {
    static let refused: UInt8 = 0
    static let unknown: UInt8 = 1
    static let accepted: UInt8 = 2
  }

  private func truths(_ part: Part, _ pages: [ColumnPage?]) -> [UInt8] {
    switch part {
    case .known(let isAccepted): same(isAccepted ? Truth.accepted : Truth.refused)
    case .unknown: same(Truth.unknown)
    case .not(let part): truths(part, pages).map { Truth.accepted - $0 }
    case .and(let parts): joined(parts, Truth.accepted, pages) { min($0, $1) }
    case .or(let parts): joined(parts, Truth.refused, pages) { max($0, $1) }
    case .value(let column, let filter, let ofMissing):
      if let page = pages[column] {
        truths(of: page, filter, ofMissing)
      } else {
        same(Truth.unknown)
      }
    }
  }

  private func same(_ truth: UInt8) -> [UInt8] {
    Array(repeating: truth, count: RememberedPlace.pageSize)
  }

  private func joined(
    _ parts: [Part], _ start: UInt8, _ pages: [ColumnPage?], _ join: (UInt8, UInt8) -> UInt8
  ) -> [UInt8] {
    var joined = same(start)
    for part in parts {
      let truths = truths(part, pages)
      for offset in joined.indices { joined[offset] = join(joined[offset], truths[offset]) }
    }
    return joined
  }

  /// Asks each value of a page once.
  private func truths(
    of page: ColumnPage, _ filter: CompiledFilter, _ ofMissing: Bool?
  ) -> [UInt8] {
    var truthOfCode = Array(repeating: Truth.unknown, count: 256)
    var row = QueryRow(references: nil)
    for (index, value) in page.values.enumerated() {
      row.payload = SharedBytes(copying: value)
      // Whoever reads a document whose value is none says so.
      let isAccepted = value.isEmpty ? ofMissing : try? filter.accepts(row)
      guard let isAccepted else { continue }
      truthOfCode[index + 1] = isAccepted ? Truth.accepted : Truth.refused
    }
    return page.codes.map { truthOfCode[Int($0)] }
  }
}

extension ColumnFilter.Part {
  /// What columns can say of a filter, with the ways to those that are not among `paths` yet added to these.
  init(_ filter: FilterExpression, _ paths: inout [QueryPath]) {
    switch filter {
    case .all: self = .known(true)
    case .nothing: self = .known(false)
    case .custom, .refused: self = .unknown
    case .not(let part): self = .not(Self(part, &paths))
    case .and(let parts): self = .and(parts.map { Self($0, &paths) })
    case .or(let parts): self = .or(parts.map { Self($0, &paths) })
    case .test(let path, let test): self = Self(path, &paths) { .test($0, test) }
    case .anyElement(let path, let part): self = Self(path, &paths) { .anyElement($0, part) }
    case .everyElement(let path, let part): self = Self(path, &paths) { .everyElement($0, part) }
    }
  }

  /// What is asked of the value to which a path leads.
  private init(
    _ path: QueryPath, _ paths: inout [QueryPath], _ ask: (QueryPath) -> FilterExpression
  ) {
    guard !path.steps.isEmpty, ask(path).looksAtValuesOnly else {
      self = .unknown
      return
    }
    var column = path
    column.measure = .value
    var value = path
    value.steps = []
    var nowhere = path
    nowhere.steps = [.key("")]
    let index = paths.firstIndex(of: column) ?? paths.count
    if index == paths.count { paths.append(column) }
    var none = QueryRow(references: nil)
    none.payload = Self.empty
    self = .value(
      column: index, CompiledFilter(ask(value)),
      ofMissing: try? CompiledFilter(ask(nowhere)).accepts(none))
  }

  /// The stored form of an object without properties, in which every path leads nowhere.
  private static let empty: SharedBytes = {
    var writer = ByteWriter()
    writer.append(ValueFormat.Tag.object)
    return writer.sharedCopy
  }()
}

extension FilterExpression {
  /// Whether nothing but what its paths lead to in the document has a say.
  fileprivate var looksAtValuesOnly: Bool {
    switch self {
    case .all, .nothing: true
    case .custom, .refused: false
    case .not(let part): part.looksAtValuesOnly
    case .and(let parts), .or(let parts): parts.allSatisfy(\.looksAtValuesOnly)
    case .test(let path, _): path.leadsToValue
    case .anyElement(let path, let part), .everyElement(let path, let part):
      path.leadsToValue && part.looksAtValuesOnly
    }
  }
}

extension QueryPath {
  fileprivate var leadsToValue: Bool { !isDocumentID && !followsReferences }
}
