/// What parts of a filter ask of the values of one index, brought together in one range.
struct IndexConditions {
  /// Which parts of the filter these are, by their numbers.
  private(set) var parts: Set<Int> = []
  private var equals: (part: Int, values: [Value])?
  private var prefix: (part: Int, text: String)?
  private var lower: IndexRange.End?
  private var upper: IndexRange.End?
  private var bounds: Set<Int> = []

  /// Takes a test over; returns false if no index can answer it.
  mutating func add(_ test: FilterTest, part: Int) -> Bool {
    switch test {
    case .equal(let value) where !value.isNull:
      if equals == nil || equals.map({ $0.values.count > 1 }) ?? false { equals = (part, [value]) }
    case .oneOf(let values) where !values.contains(where: \.isNull):
      if equals == nil { equals = (part, values) }
    case .text(.beginning, let text, []): if prefix == nil { prefix = (part, text) }
    case .order(let order, let value) where !value.isNull:
      bounds.insert(part)
      let isIncluded = order == .lessOrEqual || order == .greaterOrEqual
      let end = IndexRange.End(value: value, isIncluded: isIncluded)
      if order == .less || order == .lessOrEqual {
        upper = IndexConditions.narrower(upper, end, isUpper: true)
      } else {
        lower = IndexConditions.narrower(lower, end, isUpper: false)
      }
    default: return false
    }
    return true
  }

  /// The ranges in which the values are, and the parts of the filter that these answer.
  var ranges: (ranges: [IndexRange], answered: Set<Int>) {
    if let equals {
      var seen: Set<[UInt8]> = []
      let distinct = equals.values.filter { seen.insert(IndexedValue($0).bytes).inserted }
      return (distinct.map { .equal(to: $0) }, [equals.part])
    }
    if let prefix { return ([.prefix(prefix.text)], [prefix.part]) }
    return ([IndexRange(kind: .between(lower, upper))], bounds)
  }

  var isEmpty: Bool { equals == nil && prefix == nil && bounds.isEmpty }

  /// The end that leaves less of a range; of two types, any of them together with the other leaves nothing.
  private static func narrower(
    _ old: IndexRange.End?, _ new: IndexRange.End, isUpper: Bool
  ) -> IndexRange.End {
    guard let old else { return new }
    if IndexedValue.type(of: old.value) != IndexedValue.type(of: new.value) {
      // Nothing is less than what is no number.
      return IndexRange.End(value: .double(.nan), isIncluded: false)
    }
    let (a, b) = (IndexedValue.whole(old.value), IndexedValue.whole(new.value))
    if case .double(let number) = old.value, number.isNaN { return old }
    if case .double(let number) = new.value, number.isNaN { return new }
    if a == b { return old.isIncluded ? new : old }
    return a.lexicographicallyPrecedes(b) == isUpper ? old : new
  }
}
