import DivanLog

/// A condition for documents to be in a partial index, as the index's definition stores it.
///
/// ```swift
/// let index = DocumentIndex("open by date", on: "due") { $0["done"] == false }
/// let condition = index.conditions[0]  // path: ["done"], test: .equal(false)
/// ```
///
/// You write conditions like a filter, with
/// ``DocumentIndex/init(_:on:isUnique:eachElement:where:)``. ``DocumentIndex/conditions`` shows
/// what was made of it.
///
/// A condition has the same meaning as the same comparison in a query. An order comparison is false
/// for null, for a missing property and for another type; equality with null includes missing
/// properties. A condition is stored with the index, so it compares with a constant, not with the
/// current time.
///
/// Invariant: the values of ``Test/isIn(_:)`` are in index order without duplicates, so that two
/// conditions with the same values are equal however they were written.
public struct IndexCondition: Sendable, Hashable {
  /// A test of a property.
  ///
  /// ```swift
  /// let index = DocumentIndex("films by year", on: "year") { $0["type"] == "film" }
  /// let isOfFilms = index.conditions.contains { $0.test == .equal("film") }  // true
  /// ```
  public enum Test: Sendable {
    /// The property equals this value; null matches a missing property too.
    ///
    /// Numbers compare by value, however they are written.
    case equal(Value)
    /// The property exists and is not null.
    case isPresent
    /// The property has the value's type and is less.
    case less(Value)
    /// The property has the value's type and is less or equal.
    case lessOrEqual(Value)
    /// The property has the value's type and is greater.
    case greater(Value)
    /// The property has the value's type and is greater or equal.
    case greaterOrEqual(Value)
    /// The property is a string that begins with this one, compared by UTF-8 bytes.
    case hasPrefix(String)
    /// The property equals one of these values, as in ``equal(_:)``; their order does not matter.
    case isIn([Value])
  }

  /// The path to the property: its name, preceded by the names of the objects around it.
  public let path: [String]
  /// The test of the property.
  public let test: Test

  /// Creates a condition on the property at a path.
  ///
  /// - Parameters:
  ///   - path: 1 to 16 names.
  ///   - test: The test. A value in it has at most 1,000 bytes in its stored form, and no
  ///     non-finite numbers. ``Test/isIn(_:)`` takes 1 to 256 values, which have at most 16,000
  ///     bytes together.
  package init(path: [String], _ test: Test) {
    self.path = path
    self.test = test.inOrder
  }

  private init(_ property: String, _ test: Test) {
    self.init(path: DocumentIndex.names(inPath: property), test)
  }

  /// A condition that a property equals a value; null matches a missing property too.
  package static func equal(_ property: String, _ value: Value) -> IndexCondition {
    IndexCondition(property, .equal(value))
  }

  /// A condition that a property exists and is not null.
  ///
  /// A dot separates the name of an object from that of its property, as in ``DocumentIndex``.
  package static func isPresent(_ property: String) -> IndexCondition {
    IndexCondition(property, .isPresent)
  }

  /// A condition that a property has the type of a value and is less.
  package static func less(_ property: String, _ value: Value) -> IndexCondition {
    IndexCondition(property, .less(value))
  }

  /// A condition that a property has the type of a value and is less or equal.
  package static func lessOrEqual(_ property: String, _ value: Value) -> IndexCondition {
    IndexCondition(property, .lessOrEqual(value))
  }

  /// A condition that a property has the type of a value and is greater.
  package static func greater(_ property: String, _ value: Value) -> IndexCondition {
    IndexCondition(property, .greater(value))
  }

  /// A condition that a property has the type of a value and is greater or equal.
  package static func greaterOrEqual(_ property: String, _ value: Value) -> IndexCondition {
    IndexCondition(property, .greaterOrEqual(value))
  }

  /// A condition that a property is a string with a prefix.
  package static func hasPrefix(_ property: String, _ prefix: String) -> IndexCondition {
    IndexCondition(property, .hasPrefix(prefix))
  }

  /// A condition that a property equals one of several values; null matches a missing property too.
  ///
  /// ```swift
  /// DocumentIndex("works by year", on: "year", where: [.isIn("type", ["film", "series"])])
  /// ```
  package static func isIn(_ property: String, _ values: [Value]) -> IndexCondition {
    IndexCondition(property, .isIn(values))
  }

  /// Whether both are the same condition; names are compared by their bytes, as in documents.
  public static func == (a: IndexCondition, b: IndexCondition) -> Bool {
    haveSameNames(a.path, b.path) && a.test == b.test
  }
}

extension IndexCondition.Test: Hashable {
  /// Whether both are the same test.
  public static func == (a: Self, b: Self) -> Bool {
    guard a.number == b.number else { return false }
    if case .hasPrefix(let a) = a, case .hasPrefix(let b) = b { return haveSameUTF8(a, b) }
    return a.value == b.value
  }

  /// Hashes the values that `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(number)
    hasher.combine(value)
  }

  /// The test's number in records. FILE_FORMAT.md §9
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

  /// The operand of the comparison; nil if there is none.
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

  /// The same test, with its values in order and without duplicates.
  fileprivate var inOrder: Self {
    guard case .isIn(let values) = self, values.count > 1 else { return self }
    let keyed = values.map { (key: IndexedValue.whole($0), value: $0) }.sorted { a, b in
      if a.key != b.key { return a.key.lexicographicallyPrecedes(b.key) }
      // A number may be written in two ways; which one is kept must not depend on the order.
      return Self.storedBytes(a.value).lexicographicallyPrecedes(Self.storedBytes(b.value))
    }
    var distinct = keyed.prefix(1)
    for next in keyed.dropFirst() where next.key != distinct.last?.key { distinct.append(next) }
    return .isIn(distinct.map(\.value))
  }

  private static func storedBytes(_ value: Value) -> [UInt8] {
    (try? ValueEncoder.encode(value).array) ?? []
  }

  /// Creates the test with a number and an operand; nil if there is none.
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
    where !values.isEmpty && values.count <= IndexLimits.conditionValueLimit:
      self = .isIn(values)
    default: return nil
    }
  }
}

// MARK: - Evaluation

extension IndexCondition {
  /// Whether a document with these properties fulfils the condition.
  ///
  /// An unreadable property fulfils no condition.
  func isFulfilled(by properties: EncodedValue) -> Bool {
    do throws(DatabaseError) {
      return test.accepts(try IndexEntries.property(path, of: properties)?.decode() ?? .null)
    } catch {
      return false
    }
  }
}

extension IndexCondition.Test {
  /// Whether a value passes the test; a missing property counts as null.
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
    // Numbers may be equal although they are written differently, also within containers.
    case .int, .unsigned, .double, .array, .object:
      let whole = IndexedValue.whole(value)
      return values.contains { IndexedValue.whole($0) == whole }
    }
  }

  /// Compares two values: -1, 0 or 1; nil if one is null or their types differ.
  private func order(_ value: Value, _ other: Value) -> Int? {
    guard !value.isNull, IndexedValue.type(of: value) == IndexedValue.type(of: other) else {
      return nil
    }
    let (one, other) = (IndexedValue.whole(value), IndexedValue.whole(other))
    return one == other ? 0 : one.lexicographicallyPrecedes(other) ? -1 : 1
  }
}

// MARK: - Description

extension IndexCondition: CustomStringConvertible {
  /// A textual representation of the condition.
  public var description: String { "\(path.joined(separator: ".")) \(test)" }
}

extension IndexCondition.Test: CustomStringConvertible {
  /// A textual representation of the test.
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
