/// An aggregate that is being computed.
struct RunningAggregate {
  private let kind: AggregateKind
  private let path: CompiledPath
  private let byBytes: Bool
  private let counting: NumberCounting
  private let accepts: @Sendable (Value) -> Bool
  private var count = 0
  private var whole: Int128 = 0
  private var fraction = 0.0
  /// The rounding errors of the fraction (Neumaier's sum): the order of adding hardly matters.
  private var lost = 0.0
  private var isWhole = true
  private var extreme: (bytes: [UInt8], value: Value)?

  init<Subject, Result>(_ aggregate: QueryAggregate<Subject, Result>) throws(DatabaseError) {
    if let refusal = aggregate.refusal { throw refusal }
    kind = aggregate.kind
    path = CompiledPath(aggregate.path)
    byBytes = aggregate.byBytes
    counting = aggregate.counting
    accepts = aggregate.accepts
  }

  /// Whether documents are read.
  var isReading: Bool { kind != .count }

  /// Counts a result whose document is not read.
  mutating func addUnread() { count += 1 }

  mutating func add(_ row: borrowing QueryRow) throws(DatabaseError) {
    if kind == .count { return addUnread() }
    guard let value = try row.value(at: path), !value.isNull else { return }
    switch kind {
    case .count: break
    case .sum, .average:
      switch counting.number(value) {
      case .int(let number): whole += Int128(number)
      case .unsigned(let number): whole += Int128(number)
      case .double(let number):
        add(number)
        isWhole = false
      default: return
      }
      count += 1
    case .min, .max:
      let bytes = SortKeys.bytes(of: value, byBytes: byBytes)
      let isBetter =
        extreme.map {
          kind == .min
            ? bytes.lexicographicallyPrecedes($0.bytes)
            : $0.bytes.lexicographicallyPrecedes(bytes)
        } ?? true
      if isBetter, accepts(value) { extreme = (bytes, value) }
    }
  }

  private mutating func add(_ number: Double) {
    let sum = fraction + number
    lost += abs(fraction) >= abs(number) ? (fraction - sum) + number : (number - sum) + fraction
    fraction = sum
  }

  var result: Value {
    switch kind {
    case .count: .int(Int64(count))
    case .sum: isWhole ? wholeSum ?? .double(sum) : .double(sum)
    case .average: count == 0 ? .null : .double(sum / Double(count))
    case .min, .max: extreme?.value ?? .null
    }
  }

  /// The sum of integers, if it can be stored as an integer.
  private var wholeSum: Value? {
    Int64(exactly: whole).map { .int($0) } ?? UInt64(exactly: whole).map { .unsigned($0) }
  }

  private var sum: Double {
    // Added in two parts, since a double has fewer digits than the sum of integers may have.
    let large = Double(whole)
    var all = self
    all.add(large)
    if let added = Int128(exactly: large) { all.add(Double(whole - added)) }
    // The rounding errors of an infinite sum are not numbers.
    return all.fraction.isFinite ? all.fraction + all.lost : all.fraction
  }
}
