import DivanLog

/// One thing that documents must fulfil to be in a partial index.
///
/// ```swift
/// try database.addIndex(
///   DocumentIndex("open by date", on: "due", where: [.equal("done", false), .isPresent("due")]))
/// ```
///
/// A condition means what the same comparison in a query means: one of order is false for null, for what is missing and
/// for another type; to be equal to null is to be null or missing. It is stored with the index, so it compares with a
/// value, and not with what the clock says.
///
/// Invariant: the values of ``Test/isIn(_:)`` are in the order of indexed values, and no two of them are equal, so that
/// two conditions with the same values are the same however they were written.
public struct IndexCondition: Sendable, Hashable {
  /// What is asked of a property.
  public enum Test: Sendable {
    /// It is this value; numbers are equal however they are written, and null is what is missing, too.
    case equal(Value)
    /// It is there, and not null.
    case isPresent
    /// It is of the value's type, and less.
    case less(Value)
    /// It is of the value's type, and less or equal.
    case lessOrEqual(Value)
    /// It is of the value's type, and greater.
    case greater(Value)
    /// It is of the value's type, and greater or equal.
    case greaterOrEqual(Value)
    /// It is a text that begins with this one, byte by byte of their UTF-8.
    case hasPrefix(String)
    /// It is one of these values, each as in ``equal(_:)``; their order makes no difference.
    case isIn([Value])
  }

  /// The way to the property: its name, or the names of the objects around it before that.
  public let path: [String]
  /// What is asked of it.
  public let test: Test

  /// Asks something of the property to which a path leads.
  ///
  /// - Parameters:
  ///   - path: 1 to 16 names.
  ///   - test: what is asked; a value in it has at most 1,000 bytes in its stored form, and no numbers that are not
  ///     finite. Of ``Test/isIn(_:)`` there are 1 to 256 values, which have at most 16,000 bytes together.
  public init(path: [String], _ test: Test) {
    self.path = path
    self.test = test.inOrder
  }

  /// A property is a value; null stands for what is missing, too.
  public static func equal(_ name: String, _ value: Value) -> IndexCondition {
    IndexCondition(path: [name], .equal(value))
  }

  /// A property is there, and not null; for one within objects, with their names before it.
  public static func isPresent(_ path: String...) -> IndexCondition {
    IndexCondition(path: path, .isPresent)
  }

  /// A property is of the type of a value, and less.
  public static func less(_ name: String, _ value: Value) -> IndexCondition {
    IndexCondition(path: [name], .less(value))
  }

  /// A property is of the type of a value, and less or equal.
  public static func lessOrEqual(_ name: String, _ value: Value) -> IndexCondition {
    IndexCondition(path: [name], .lessOrEqual(value))
  }

  /// A property is of the type of a value, and greater.
  public static func greater(_ name: String, _ value: Value) -> IndexCondition {
    IndexCondition(path: [name], .greater(value))
  }

  /// A property is of the type of a value, and greater or equal.
  public static func greaterOrEqual(_ name: String, _ value: Value) -> IndexCondition {
    IndexCondition(path: [name], .greaterOrEqual(value))
  }

  /// A property is a text that begins with another one.
  public static func hasPrefix(_ name: String, _ prefix: String) -> IndexCondition {
    IndexCondition(path: [name], .hasPrefix(prefix))
  }

  /// A property is one of several values; null stands for what is missing, too.
  ///
  /// ```swift
  /// DocumentIndex("works by year", on: "year", where: [.isIn("type", ["film", "series"])])
  /// ```
  public static func isIn(_ name: String, _ values: [Value]) -> IndexCondition {
    IndexCondition(path: [name], .isIn(values))
  }

  /// Whether both ask the same of the same property; names are told apart by their bytes, as in documents.
  public static func == (a: IndexCondition, b: IndexCondition) -> Bool {
    haveSameNames(a.path, b.path) && a.test == b.test
  }
}

extension IndexCondition.Test: Hashable {
  /// Whether both ask the same.
  public static func == (a: Self, b: Self) -> Bool {
    guard a.number == b.number else { return false }
    if case .hasPrefix(let a) = a, case .hasPrefix(let b) = b { return haveSameUTF8(a, b) }
    return a.value == b.value
  }

  /// Feeds what `==` compares into the hasher.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(number)
    hasher.combine(value)
  }

  /// By which number records know it. FILE_FORMAT.md §9
  var number: UInt8 {
    switch self {
    case .equal: 0
    case .isPresent: 1
    case .less: 2
    case .lessOrEqual: 3
    case .greater: 4
    case .greaterOrEqual: 5
    case .hasPrefix: 6
    case .isIn: 7
    }
  }

  /// What is compared with; nil if nothing is.
  var value: Value? {
    switch self {
    case .isPresent: nil
    case .equal(let value), .less(let value), .lessOrEqual(let value), .greater(let value),
      .greaterOrEqual(let value):
      value
    case .hasPrefix(let text): .string(text)
    case .isIn(let values): .array(values)
    }
  }

  /// The same with values in their order, and each of them once.
  fileprivate var inOrder: Self {
    guard case .isIn(let values) = self, values.count > 1 else { return self }
    let keyed = values.map { (key: IndexedValue.whole($0), value: $0) }.sorted { a, b in
      if a.key != b.key { return a.key.lexicographicallyPrecedes(b.key) }
      // The same number may be written in two ways; which of them stays must not depend on the order.
      return Self.storedBytes(a.value).lexicographicallyPrecedes(Self.storedBytes(b.value))
    }
    var distinct = keyed.prefix(1)
    for next in keyed.dropFirst() where next.key != distinct.last?.key { distinct.append(next) }
    return .isIn(distinct.map(\.value))
  }

  private static func storedBytes(_ value: Value) -> [UInt8] {
    (try? ValueCoding.encode(value).array) ?? []
  }

  /// The test of a number, which compares with a value; nil if there is none.
  init?(number: UInt8, value: Value?) {
    switch (number, value) {
    case (0, let value?): self = .equal(value)
    case (1, nil): self = .isPresent
    case (2, let value?): self = .less(value)
    case (3, let value?): self = .lessOrEqual(value)
    case (4, let value?): self = .greater(value)
    case (5, let value?): self = .greaterOrEqual(value)
    case (6, .string(let text)?): self = .hasPrefix(text)
    case (7, .array(let values)?)
    where !values.isEmpty && values.count <= IndexRecord.conditionValueLimit:
      self = .isIn(values)
    default: return nil
    }
  }
}

// MARK: - Asking documents

extension IndexCondition {
  /// Whether a document with these properties fulfils it.
  ///
  /// What cannot be read fulfils nothing.
  func isFulfilled(by body: EncodedValue) -> Bool {
    do throws(DatabaseError) {
      return test.accepts(try IndexEntries.property(path, of: body)?.decode() ?? .null)
    } catch {
      return false
    }
  }
}

extension IndexCondition.Test {
  /// Whether a value passes; null, too, for what is missing.
  func accepts(_ value: Value) -> Bool {
    switch self {
    case .equal(let other):
      value == other || IndexedValue.whole(value) == IndexedValue.whole(other)
    case .isPresent: !value.isNull
    case .less(let other): order(value, other) == -1
    case .lessOrEqual(let other): order(value, other).map { $0 <= 0 } ?? false
    case .greater(let other): order(value, other) == 1
    case .greaterOrEqual(let other): order(value, other).map { $0 >= 0 } ?? false
    case .hasPrefix(let prefix): value.stringValue?.utf8.starts(with: prefix.utf8) ?? false
    case .isIn(let values): isOne(value, of: values)
    }
  }

  private func isOne(_ value: Value, of values: [Value]) -> Bool {
    if values.contains(value) { return true }
    switch value {
    case .null, .bool, .string: return false
    // Numbers may be equal that are written in two ways, also within these.
    case .int, .unsigned, .double, .array, .object:
      let whole = IndexedValue.whole(value)
      return values.contains { IndexedValue.whole($0) == whole }
    }
  }

  /// Whether one value is less than another, equal or greater: -1, 0 or 1; nil if one is null, or they are of two types.
  private func order(_ value: Value, _ other: Value) -> Int? {
    guard !value.isNull, IndexedValue.type(of: value) == IndexedValue.type(of: other) else {
      return nil
    }
    let (one, other) = (IndexedValue.whole(value), IndexedValue.whole(other))
    return one == other ? 0 : one.lexicographicallyPrecedes(other) ? -1 : 1
  }
}

// MARK: - In words

extension IndexCondition: CustomStringConvertible {
  /// The condition in words.
  public var description: String { "\(path.joined(separator: ".")) \(test)" }
}

extension IndexCondition.Test: CustomStringConvertible {
  /// What is asked, in words.
  public var description: String {
    switch self {
    case .equal(let value): "= \(value.json)"
    case .isPresent: "is there"
    case .less(let value): "< \(value.json)"
    case .lessOrEqual(let value): "≤ \(value.json)"
    case .greater(let value): "> \(value.json)"
    case .greaterOrEqual(let value): "≥ \(value.json)"
    case .hasPrefix(let text): "begins with \(Value.string(text).json)"
    case .isIn(let values): "in \(Value.array(values).json)"
    }
  }
}
