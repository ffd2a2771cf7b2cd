/// A reduction of a view's rows: to one value for all rows of a query, or for each group of them.
///
/// ```swift
/// let perYear = MapReduceView("minutes per year", version: "1", reduction: .sum) { film, emit in
///   emit(film["year"], film["minutes"])
/// }
/// let total = try database.rows(of: perYear).value
/// ```
///
/// Numeric reductions use the rows whose values are numbers, and ignore the others. Rows are
/// reduced in their order, so that the same rows give the same value to the last digit.
public struct ViewReduction: Sendable {
  /// Creates an accumulator for the rows of one group.
  let makeAccumulator: @Sendable () -> any ViewAccumulator

  init(_ makeAccumulator: @escaping @Sendable () -> any ViewAccumulator) {
    self.makeAccumulator = makeAccumulator
  }
}

extension ViewReduction {
  /// The number of rows.
  public static let count = ViewReduction { RowCount() }

  /// The sum of the numbers; 0 if there are none.
  ///
  /// The sum of integers is exact if it fits in 64 bits, signed or unsigned, and the nearest double
  /// otherwise. With other numbers it is a double, computed without loss on the way: integers are
  /// summed separately, also beyond 2^53. It is null if it overflows a double, or if the sum of the
  /// non-integers does on the way.
  public static let sum = ViewReduction { NumberSummary { $0.total } }

  /// The mean of the numbers, as their sum divided by their count; null without numbers or sum.
  public static let average = ViewReduction { NumberSummary { $0.mean } }

  /// The least value other than null, in the order of ``Collation``; null if there is none.
  public static let minimum = ViewReduction { ExtremeValue(sign: -1) }

  /// The greatest value, in the order of ``Collation``; null if there is none.
  public static let maximum = ViewReduction { ExtremeValue(sign: 1) }

  /// The median of the numbers, or the mean of the two middle ones; null if there are none.
  public static let median = ViewReduction { MiddleNumber() }

  /// The sample standard deviation of the numbers; null if there are fewer than two.
  public static let standardDeviation = ViewReduction {
    NumberSummary { $0.sampleDeviation }
  }

  /// An object with `count`, `sum`, `sumsqr` (of the squares), `min` and `max` of the numbers.
  ///
  /// `min` and `max` are null if there are none.
  public static let statistics = ViewReduction {
    NumberSummary(includesExtremes: true) {
      [
        "count": .int(Int64($0.numberCount)), "sum": $0.total, "sumsqr": $0.squares,
        "min": $0.least ?? .null, "max": $0.greatest ?? .null,
      ]
    }
  }

  /// Returns a custom reduction.
  ///
  /// Rows come in their order, at most a thousand at a time; the results of several calls are
  /// reduced again, until one value is left.
  ///
  /// - Parameters:
  ///   - rows: Reduces some rows, at least one, to a value. If it throws, the query fails with
  ///     ``DatabaseError/Code/viewFailed``.
  ///   - rereduce: Reduces several such values, in the order of their rows, to one.
  /// - Returns: The reduction.
  public static func custom(
    _ rows: @escaping @Sendable (_ rows: [ViewRow]) throws -> Value,
    rereduce: @escaping @Sendable (_ values: [Value]) throws -> Value
  ) -> ViewReduction {
    ViewReduction { CustomReduction(reduce: rows, rereduce: rereduce) }
  }
}

/// An accumulator of the rows of one group.
protocol ViewAccumulator {
  mutating func add(_ row: ViewContents.Row) throws
  mutating func finish() throws -> Value
}

private struct RowCount: ViewAccumulator {
  private var count: Int64 = 0
  mutating func add(_ row: ViewContents.Row) { count += 1 }
  mutating func finish() -> Value { .int(count) }
}

/// A summary of numbers; sums that overflow a double, which could not be stored, are null.
///
/// Integers are summed exactly, and other numbers with compensation for rounding.
private struct NumberSummary: ViewAccumulator {
  private(set) var numberCount = 0
  private var sumOfSquares = 0.0
  private(set) var least: Value?
  private(set) var greatest: Value?
  /// The sum of the integers, of which there are fewer than 2^63 of 64 bits each.
  private var wholeSum: Int128 = 0
  private var hasFractions = false
  private var fractions = CompensatedSum()
  /// The running mean and sum of squared distances from it (Welford).
  private var runningMean = 0.0
  private var distances = 0.0
  private let includesExtremes: Bool
  private let result: (NumberSummary) -> Value

  init(includesExtremes: Bool = false, _ result: @escaping (NumberSummary) -> Value) {
    self.includesExtremes = includesExtremes
    self.result = result
  }

  mutating func add(_ row: ViewContents.Row) {
    guard let number = row.value.doubleValue else { return }
    numberCount += 1
    switch row.value {
    case .int(let whole): wholeSum += Int128(whole)
    case .unsigned(let whole): wholeSum += Int128(whole)
    default:
      hasFractions = true
      fractions.add(number)
    }
    let distance = number - runningMean
    runningMean += distance / Double(numberCount)
    distances += distance * (number - runningMean)
    guard includesExtremes else { return }
    sumOfSquares += number * number
    if least.map({ Collation.compare(row.value, $0) < 0 }) ?? true { least = row.value }
    if greatest.map({ Collation.compare(row.value, $0) > 0 }) ?? true { greatest = row.value }
  }

  private static func finite(_ number: Double) -> Value {
    number.isFinite ? .double(number) : .null
  }

  var total: Value {
    guard hasFractions else {
      if let small = Int64(exactly: wholeSum) { return .int(small) }
      if let large = UInt64(exactly: wholeSum) { return .unsigned(large) }
      return .double(Double(wholeSum))
    }
    // Added in two parts, since a double has fewer digits than the sum may have.
    let large = Double(wholeSum)
    var sum = fractions
    sum.add(large)
    if let rest = Int128(exactly: large) { sum.add(Double(wholeSum - rest)) }
    return Self.finite(sum.value)
  }

  var mean: Value {
    guard numberCount > 0, let total = total.doubleValue else { return .null }
    return Self.finite(total / Double(numberCount))
  }

  var sampleDeviation: Value {
    numberCount > 1 ? Self.finite((distances / Double(numberCount - 1)).squareRoot()) : .null
  }

  var squares: Value { Self.finite(sumOfSquares) }

  mutating func finish() -> Value { result(self) }
}

/// A sum of doubles with compensation for rounding errors (Neumaier).
private struct CompensatedSum {
  private var sum = 0.0
  private var lost = 0.0

  mutating func add(_ number: Double) {
    let next = sum + number
    lost += abs(sum) >= abs(number) ? sum - next + number : number - next + sum
    sum = next
  }

  var value: Double { sum + lost }
}

private struct ExtremeValue: ViewAccumulator {
  let sign: Int
  private var value: Value?

  init(sign: Int) { self.sign = sign }

  mutating func add(_ row: ViewContents.Row) {
    guard !row.value.isNull else { return }
    if value.map({ Collation.compare(row.value, $0) * sign > 0 }) ?? true { value = row.value }
  }

  mutating func finish() -> Value { value ?? .null }
}

private struct MiddleNumber: ViewAccumulator {
  private var numbers: [Value] = []

  mutating func add(_ row: ViewContents.Row) {
    if row.value.doubleValue != nil { numbers.append(row.value) }
  }

  mutating func finish() -> Value {
    guard !numbers.isEmpty else { return .null }
    numbers.sort { Collation.compare($0, $1) < 0 }
    let upper = numbers[numbers.count / 2]
    guard numbers.count % 2 == 0 else { return upper }
    let lower = numbers[numbers.count / 2 - 1]
    if Collation.compare(lower, upper) == 0 { return upper }
    guard let one = lower.doubleValue, let other = upper.doubleValue else { return .null }
    // Halved first, because the sum could overflow a double.
    return .double(one / 2 + other / 2)
  }
}

private struct CustomReduction: ViewAccumulator {
  let reduce: @Sendable ([ViewRow]) throws -> Value
  let rereduce: @Sendable ([Value]) throws -> Value
  private var rows: [ViewRow] = []
  private var values: [Value] = []

  private static let limit = 1000

  init(
    reduce: @escaping @Sendable ([ViewRow]) throws -> Value,
    rereduce: @escaping @Sendable ([Value]) throws -> Value
  ) {
    self.reduce = reduce
    self.rereduce = rereduce
  }

  mutating func add(_ row: ViewContents.Row) throws {
    rows.append(ViewRow(row))
    if rows.count == CustomReduction.limit { try reduceRows() }
  }

  private mutating func reduceRows() throws {
    values.append(try reduce(rows))
    rows.removeAll(keepingCapacity: true)
    if values.count == CustomReduction.limit { values = [try rereduce(values)] }
  }

  mutating func finish() throws -> Value {
    if !rows.isEmpty { try reduceRows() }
    return values.count == 1 ? values[0] : try rereduce(values)
  }
}
