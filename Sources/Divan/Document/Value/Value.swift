/// A JSON value, with integers distinguished from other numbers; documents consist of these.
///
/// ```swift
/// let value: Value = ["title": "Metropolis", "year": 1927, "cast": ["Brigitte Helm"]]
/// let year = value["year"]?.intValue  // 1927
/// let star = value["cast"]?[0]?.stringValue  // "Brigitte Helm"
/// let text = value["year"]?.stringValue  // nil: the year is a number
/// ```
///
/// Two values are equal if their stored forms are the same bytes. So `1` and `1.0` differ, as do
/// `0.0` and `-0.0`, and texts that look the same but consist of other Unicode scalars.
///
/// Invariant of stored and parsed values: `.unsigned` has only numbers that do not fit `Int64`.
/// ``integer(_:)`` ensures it. A smaller number in `.unsigned` equals the same number in `.int`,
/// and is stored in that form.
public enum Value: Sendable {
  /// An explicit null.
  case null
  /// True or false.
  case bool(Bool)
  /// A whole number.
  case int(Int64)
  /// A whole number beyond the largest `Int64`.
  case unsigned(UInt64)
  /// A number that was written with a fraction or an exponent.
  ///
  /// A number that is not finite cannot be stored.
  case double(Double)
  /// A text.
  case string(String)
  /// Values in order.
  case array([Value])
  /// Values by name.
  case object(Object)
}

extension Value {
  /// Returns the whole number `number`, in the case that represents it.
  public static func integer(_ number: UInt64) -> Value {
    Int64(exactly: number).map { .int($0) } ?? .unsigned(number)
  }
}

extension Value: Hashable {
  /// Whether both values have the same stored form.
  public static func == (a: Value, b: Value) -> Bool { areEqual(a, b) }

  /// Feeds the compared properties into the hasher.
  public func hash(into hasher: inout Hasher) { hash(into: &hasher, depth: 0) }
}

// MARK: - Reading values

extension Value {
  /// Whether this is null.
  public var isNull: Bool {
    if case .null = self { true } else { false }
  }

  /// The truth value, if this is one.
  public var boolValue: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  /// The whole number, if this is one that fits `Int`.
  public var intValue: Int? {
    switch self {
    case .int(let value): Int(exactly: value)
    case .unsigned(let value): Int(exactly: value)
    default: nil
    }
  }

  /// The number, if this is one: a whole number is rounded to the nearest `Double`.
  public var doubleValue: Double? {
    switch self {
    case .int(let value): Double(value)
    case .unsigned(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }

  /// The text, if this is one.
  public var stringValue: String? {
    if case .string(let value) = self { value } else { nil }
  }

  /// The elements, if this is an array.
  public var arrayValue: [Value]? {
    if case .array(let value) = self { value } else { nil }
  }

  /// The properties, if this is an object.
  public var objectValue: Object? {
    if case .object(let value) = self { value } else { nil }
  }

  /// Returns the property `key`, or nil if there is none or this is not an object.
  public subscript(key: String) -> Value? {
    if case .object(let object) = self { object[key] } else { nil }
  }

  /// Returns the element at `index`, or nil if there is none or this is not an array.
  public subscript(index: Int) -> Value? {
    guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
    return elements[index]
  }
}

// MARK: - Literals

// There is no `nil` literal: in `found ? value : nil` it would silently mean `.null`.
extension Value: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  /// Creates a truth value.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// Creates a whole number; for one beyond `Int64` use ``integer(_:)``.
  public init(integerLiteral value: Int64) { self = .int(value) }
  /// Creates a number that is not an integer, even if it looks like one: `1.0`.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// Creates a text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// Creates an array.
  public init(arrayLiteral elements: Value...) { self = .array(elements) }
  /// Creates an object.
  ///
  /// - Precondition: No key appears twice.
  public init(dictionaryLiteral elements: (String, Value)...) {
    self = .object(Object(literal: elements))
  }
}
