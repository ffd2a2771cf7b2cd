import DivanLog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A type of properties that is converted directly to and from its stored form.
protocol StorableValue: _PersistableValue {
  /// Returns the value that fills `range`; nil if it is of another type.
  static func decode(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Self?
  /// Replaces `value` with the one that fills `range`; returns false if it is of another type.
  ///
  /// It is a requirement, because it is then specialized for each type.
  static func read(_ bytes: SharedBytes, _ range: Range<Int>, into value: inout Self) -> Bool
  /// Encodes the value; returns false if it cannot be stored.
  func encode(into encoder: inout ValueEncoder) -> Bool
  /// Whether the property is left out of the document.
  var isAbsent: Bool { get }
  /// Whether both have the same stored form.
  static func areSame(_ a: Self, _ b: Self) -> Bool
  /// Whether values may have to be rounded when they are assigned.
  static var isNormalizing: Bool { get }
  /// The type's nil, if it has one.
  static var nilValue: Self? { get }
}

extension StorableValue {
  static func read(_ bytes: SharedBytes, _ range: Range<Int>, into value: inout Self) -> Bool {
    bytes.withSpan { bytes in
      guard let read = decode(bytes, range) else { return false }
      value = read
      return true
    }
  }

  var isAbsent: Bool { false }
  static var isNormalizing: Bool { false }
  static var nilValue: Self? { nil }
}

extension Bool: StorableValue {
  static func decode(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool? {
    guard range.count == 1 else { return nil }
    return switch bytes[range.lowerBound] {
    case ValueFormat.Tag.no: false
    case ValueFormat.Tag.yes: true
    default: nil
    }
  }

  func encode(into encoder: inout ValueEncoder) -> Bool {
    encoder.add(self)
    return true
  }

  static func areSame(_ a: Bool, _ b: Bool) -> Bool { a == b }
}

extension Int: StorableValue {
  static func decode(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int? {
    if let number = ValueFormat.int64(bytes, range) { return Int(exactly: number) }
    return try? NumberReading.integer(bytes, range)
  }

  func encode(into encoder: inout ValueEncoder) -> Bool {
    encoder.add(Int64(self))
    return true
  }

  static func areSame(_ a: Int, _ b: Int) -> Bool { a == b }
}

extension Double: StorableValue {
  /// Accepts integers too, because other programs write `2` for `2.0`.
  static func decode(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Double? {
    try? NumberReading.double(bytes, range)
  }

  func encode(into encoder: inout ValueEncoder) -> Bool {
    guard isFinite else { return false }
    encoder.add(self)
    return true
  }

  static func areSame(_ a: Double, _ b: Double) -> Bool { a.bitPattern == b.bitPattern }
}

extension String: StorableValue {
  static func decode(_ bytes: Span<UInt8>, _ range: Range<Int>) -> String? {
    ValueFormat.text(bytes, range).flatMap { String(utf8: bytes.extracting($0)) }
  }

  func encode(into encoder: inout ValueEncoder) -> Bool {
    DivanLog.withUTF8(of: self) { encoder.add(text: $0) }
    return true
  }

  static func areSame(_ a: String, _ b: String) -> Bool { haveSameUTF8(a, b) }
}

extension Date: StorableValue {
  static func decode(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Date? {
    ValueFormat.text(bytes, range).flatMap { ISO8601Date.date(of: bytes.extracting($0)) }
  }

  func encode(into encoder: inout ValueEncoder) -> Bool {
    guard let text = ISO8601Date.text(of: self) else { return false }
    encoder.add(text: text.span)
    return true
  }

  static func areSame(_ a: Date, _ b: Date) -> Bool { a == b }
  static var isNormalizing: Bool { true }
}

extension Array: StorableValue where Element: StorableValue & _PersistableElement {
  /// Returns nil if an element is of another type.
  static func decode(_ bytes: Span<UInt8>, _ range: Range<Int>) -> [Element]? {
    guard !range.isEmpty, bytes[range.lowerBound] & 0xF0 == ValueFormat.Tag.array,
      let array = ValueFormat.container(bytes, at: range.lowerBound, end: range.upperBound)
    else { return nil }
    var elements: [Element] = []
    // An element has at least one byte.
    elements.reserveCapacity(Swift.min(array.count ?? 4, array.end - array.start))
    var position = array.start
    while position < array.end {
      guard let next = ValueFormat.skip(bytes, at: position, end: array.end),
        let element = Element.decode(bytes, position..<next)
      else { return nil }
      elements.append(element)
      position = next
    }
    return elements
  }

  func encode(into encoder: inout ValueEncoder) -> Bool {
    encoder.beginArray()
    for element in self {
      guard element.encode(into: &encoder) else { return false }
    }
    encoder.endArray()
    return true
  }

  static func areSame(_ a: [Element], _ b: [Element]) -> Bool {
    a.count == b.count && zip(a, b).allSatisfy { Element.areSame($0, $1) }
  }

  static var isNormalizing: Bool { Element.isNormalizing }
}

extension Optional: StorableValue where Wrapped: StorableValue & PersistableOptional {
  static func decode(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Wrapped?? {
    Wrapped.decode(bytes, range).map { .some($0) }
  }

  func encode(into encoder: inout ValueEncoder) -> Bool {
    guard let self else {
      encoder.addNull()
      return true
    }
    return self.encode(into: &encoder)
  }

  var isAbsent: Bool { self == nil }

  static func areSame(_ a: Wrapped?, _ b: Wrapped?) -> Bool {
    switch (a, b) {
    case (nil, nil): true
    case (let a?, let b?): Wrapped.areSame(a, b)
    default: false
    }
  }

  static var isNormalizing: Bool { Wrapped.isNormalizing }
  static var nilValue: Wrapped?? { .some(nil) }
}
