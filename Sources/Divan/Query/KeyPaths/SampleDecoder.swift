#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The record of decoding one sample.
final class SampleSession {
  /// The key whose given value is recorded.
  private let watched: String?
  /// Whether a key has the other value.
  let alters: (String) -> Bool
  /// The keys that were requested.
  private(set) var keys: [String] = []
  /// The value that was given for the watched key.
  private(set) var given: Any?

  init(watching key: String? = nil, altering alters: @escaping (String) -> Bool = { _ in false }) {
    watched = key
    self.alters = alters
  }

  func noteRequest(_ key: String) { if !keys.contains(key) { keys.append(key) } }
  func noteGiven(_ value: Any, for key: String) { if key == watched { given = value } }
}

/// An error for a type that no sample value can be created of.
struct NoSample: Error {
  /// The type of the value, if it is known.
  var type: Any.Type?
}

/// A type whose samples are made without decoding.
private protocol SampleType {
  /// Returns one of two samples; `depth` is the number of values that contain it.
  static func sample(_ isAltered: Bool, depth: Int) throws -> Self
}

extension Array: SampleType where Element: Decodable {
  static func sample(_ isAltered: Bool, depth: Int) throws -> Self {
    isAltered ? [try SampleDecoder.sample(Element.self, isAltered: true, depth: depth)] : []
  }
}

extension Set: SampleType where Element: Decodable {
  static func sample(_ isAltered: Bool, depth: Int) throws -> Self {
    isAltered ? [try SampleDecoder.sample(Element.self, isAltered: true, depth: depth)] : []
  }
}

extension Dictionary: SampleType where Key == String, Value: Decodable {
  static func sample(_ isAltered: Bool, depth: Int) throws -> Self {
    isAltered
      ? ["sample": try SampleDecoder.sample(Value.self, isAltered: true, depth: depth)] : [:]
  }
}

extension Optional: SampleType where Wrapped: Decodable {
  static func sample(_ isAltered: Bool, depth: Int) throws -> Self {
    isAltered ? try SampleDecoder.sample(Wrapped.self, isAltered: true, depth: depth) : nil
  }
}

extension CaseIterable {
  /// Returns one of two cases.
  fileprivate static func sample(_ isAltered: Bool) throws -> Self {
    var last: Self?
    for each in allCases {
      if !isAltered { return each }
      last = each
    }
    guard let last else { throw NoSample() }
    return last
  }
}

/// A decoder that creates sample values of types.
struct SampleDecoder: Decoder {
  let session: SampleSession
  /// The number of values that contain this one: 0 for the sample itself, whose keys are recorded.
  var depth = 0
  /// Whether all of a contained value is altered.
  var isAltered = false

  /// The depth from which nothing is altered, and twice of which is not reached.
  ///
  /// This allows types that contain values of themselves.
  private static let alteredDepth = 8

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy _: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(SampleObject<Key>(session: session, depth: depth, isAltered: isAltered))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw NoSample() }

  func singleValueContainer() -> any SingleValueDecodingContainer {
    SampleScalar(depth: depth, isAltered: isAltered)
  }

  static func sample<T: Decodable>(
    _ type: T.Type, isAltered: Bool, depth: Int = 0
  ) throws -> T {
    guard depth < 2 * alteredDepth else { throw NoSample(type: T.self) }
    let isAltered = isAltered && depth < alteredDepth
    let found: Any? =
      switch type {
      case is Bool.Type: isAltered
      // Reveals properties that change case, accents or outer spaces, or that are never negative.
      case is String.Type: isAltered ? " Dívan 73 " : ""
      case is Double.Type: isAltered ? -73.25 : 0.0
      case is Float.Type: isAltered ? Float(-73.25) : Float(0)
      case is Decimal.Type: isAltered ? Decimal(-73) : Decimal(0)
      case is Date.Type: Date(timeIntervalSince1970: isAltered ? 73 : 0)
      case is Data.Type: isAltered ? Data([73]) : Data()
      case is UUID.Type:
        UUID(uuid: (isAltered ? 73 : 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
      case is URL.Type: URL(string: isAltered ? "divan:73" : "divan:0")
      case is Value.Type: isAltered ? Value.int(-73) : Value.null
      case let type as any FixedWidthInteger.Type: integer(type, isAltered)
      case let type as any SampleType.Type: try type.sample(isAltered, depth: depth)
      case let type as any CaseIterable.Type: try type.sample(isAltered)
      default: nil
      }
    if let found = found as? T { return found }
    let decoder = SampleDecoder(session: SampleSession(), depth: depth + 1, isAltered: isAltered)
    do {
      return try T(from: decoder)
    } catch {
      if let type = type as? any RawRepresentable.Type,
        let found = numbered(type, isAltered) as? T
      {
        return found
      }
      // Report the contained type, not this one.
      if let failure = error as? NoSample, failure.type != nil { throw failure }
      throw NoSample(type: T.self)
    }
  }

  /// Returns one of two values of an enumeration with integer raw values; nil for other types.
  ///
  /// It tries small raw values, from -1 to 255.
  private static func numbered<R: RawRepresentable>(_: R.Type, _ isAltered: Bool) -> R? {
    func found<I: FixedWidthInteger>(_: I.Type) -> R? {
      var found: R?
      for number in -1...255 where found == nil || isAltered {
        if let raw = I(exactly: number) as? R.RawValue, let value = R(rawValue: raw) {
          found = value
        }
      }
      return found
    }
    guard let integer = R.RawValue.self as? any FixedWidthInteger.Type else { return nil }
    return found(integer)
  }

  private static func integer<I: FixedWidthInteger>(_: I.Type, _ isAltered: Bool) -> I {
    isAltered ? (I.isSigned ? -73 : 73) : 0
  }
}

private struct SampleObject<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let session: SampleSession
  let depth: Int
  let isAltered: Bool

  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { [] }
  func contains(_ key: Key) -> Bool { isAltered(key) }
  func decodeNil(forKey key: Key) -> Bool { !isAltered(key) }

  private func isAltered(_ key: Key) -> Bool {
    if depth > 0 { return isAltered }
    session.noteRequest(key.stringValue)
    return session.alters(key.stringValue)
  }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    let sample = try SampleDecoder.sample(type, isAltered: isAltered(key), depth: depth)
    if depth == 0 { session.noteGiven(sample, for: key.stringValue) }
    return sample
  }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try value(key) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try value(key) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try value(key) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try value(key) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try value(key) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try value(key) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try value(key) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try value(key) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try value(key) }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try value(key) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try value(key) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try value(key) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try value(key) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try value(key) }

  private func value<T: Decodable>(_ key: Key) throws -> T { try decode(T.self, forKey: key) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy _: Nested.Type, forKey _: Key
  ) throws -> KeyedDecodingContainer<Nested> { throw NoSample() }

  func nestedUnkeyedContainer(forKey _: Key) throws -> any UnkeyedDecodingContainer {
    throw NoSample()
  }

  func superDecoder() throws -> any Decoder { throw NoSample() }
  func superDecoder(forKey _: Key) throws -> any Decoder { throw NoSample() }
}

private struct SampleScalar: SingleValueDecodingContainer {
  let depth: Int
  let isAltered: Bool

  var codingPath: [any CodingKey] { [] }
  func decodeNil() -> Bool { !isAltered }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try SampleDecoder.sample(type, isAltered: isAltered, depth: depth)
  }

  func decode(_ type: Bool.Type) throws -> Bool { try value() }
  func decode(_ type: String.Type) throws -> String { try value() }
  func decode(_ type: Double.Type) throws -> Double { try value() }
  func decode(_ type: Float.Type) throws -> Float { try value() }
  func decode(_ type: Int.Type) throws -> Int { try value() }
  func decode(_ type: Int8.Type) throws -> Int8 { try value() }
  func decode(_ type: Int16.Type) throws -> Int16 { try value() }
  func decode(_ type: Int32.Type) throws -> Int32 { try value() }
  func decode(_ type: Int64.Type) throws -> Int64 { try value() }
  func decode(_ type: UInt.Type) throws -> UInt { try value() }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try value() }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try value() }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try value() }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try value() }

  private func value<T: Decodable>() throws -> T { try decode(T.self) }
}
