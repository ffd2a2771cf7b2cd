#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Finds out under which key a property of a `Codable` type is stored.
///
/// Nothing in Swift says that. So samples of the type are decoded from nothing, with one of two values under each key: the
/// property that has what was given for a key, whatever was given for that and for the others, is the one. A computed
/// property is found out, unless it gives both values back as they are.
enum CodableKeys {
  /// The key under which the property at a key path is stored.
  ///
  /// - Throws: `invalidQuery` if that cannot be found out: the property is computed, or it has a type of which no sample
  ///   can be made.
  static func key<Root: Decodable>(
    of path: AnyKeyPath, in _: Root.Type
  ) throws(DatabaseError) -> String { try find(path, in: Root.self).key }

  /// Where the property at a key path is in documents that are of the type.
  ///
  /// - Throws: as ``key(of:in:)``; and if it is the document's revision, which no filter knows.
  static func path<Root: Decodable>(
    to path: AnyKeyPath, in _: Root.Type, from subject: QueryPath
  ) throws(DatabaseError) -> QueryPath {
    let (key, mark) = try find(path, in: Root.self)
    guard subject.steps.isEmpty else { return subject.appending(.key(key)) }
    // Marked properties are not among the others.
    if mark is DocumentID { return .documentID }
    guard !(mark is DocumentRevision) else {
      throw refusal(Root.self, "it is the document's revision, which queries do not ask for", nil)
    }
    return subject.appending(.key(key))
  }

  private static func find<Root: Decodable>(
    _ path: AnyKeyPath, in _: Root.Type
  ) throws(DatabaseError) -> (key: String, given: Any) {
    let session = SampleSession()
    do {
      _ = try Root(from: SampleDecoder(session: session))
    } catch {
      let last = session.keys.last.map { ", since none of \"\($0)\" can" } ?? ""
      throw refusal(Root.self, "no sample of it can be decoded\(last)", error)
    }
    for key in session.keys {
      if let given = given(for: key, as: path, in: Root.self) { return (key, given) }
    }
    throw refusal(
      Root.self, "the property is computed, or no two values of its type can be made up", nil)
  }

  /// The other value for a key, if the property at a key path has what is given for that key; else nil.
  private static func given<Root: Decodable>(
    for key: String, as path: AnyKeyPath, in _: Root.Type
  ) -> Any? {
    var given: Any?
    // What the property has where nothing is given for it.
    var absent: Value?
    // First all are altered, so that no path leads into what is empty.
    let states: [@Sendable (String) -> Bool] = [
      { _ in true }, { $0 != key }, { $0 == key }, { _ in false },
    ]
    for (number, alters) in states.enumerated() {
      let session = SampleSession(watching: key, altering: alters)
      guard let sample = try? Root(from: SampleDecoder(session: session)) else {
        // Of others there may be no second value.
        if number == 2 { return nil }
        continue
      }
      guard let property = sample[keyPath: path] as? any Encodable,
        let found = try? Value(queryConstant: property)
      else { return nil }
      guard let value = session.given as? any Encodable,
        let expected = try? Value(queryConstant: value)
      else {
        if alters(key) || (absent.map { $0 != found } ?? false) { return nil }
        absent = found
        continue
      }
      guard expected == found, !alters(key) || !expected.isNull else { return nil }
      if number == 2 { given = value }
    }
    return given
  }

  /// One of two values of a type; nil if none can be made up.
  static func sample<T>(of _: T.Type, isAltered: Bool) -> T? {
    func made<D: Decodable>(_: D.Type) -> Any? {
      try? SampleDecoder.sample(D.self, isAltered: isAltered)
    }
    guard let type = T.self as? any Decodable.Type else { return nil }
    return made(type) as? T
  }

  /// A value of a type that is not the one that it has at first, as it is stored; nil if none can be made up.
  static func sample(of type: any Codable.Type) -> Value? {
    func stored<T: Codable>(_: T.Type) -> Value? {
      guard let sample = try? SampleDecoder.sample(T.self, isAltered: true),
        let value = try? Value(queryConstant: sample), !value.isNull
      else { return nil }
      return value
    }
    return stored(type)
  }

  private static func refusal(
    _ type: Any.Type, _ reason: String, _ error: (any Error)?
  ) -> DatabaseError {
    DatabaseError(
      .invalidQuery, "it is not known where a property of \(type) is stored: \(reason)",
      hint: "Make enumerations CaseIterable, or name the property in a Query<Document>",
      underlying: error)
  }
}

/// What happened while a sample was decoded.
private final class SampleSession {
  /// The key of which it is noted what is given.
  private let watched: String?
  /// Under which keys there is the other value.
  let alters: (String) -> Bool
  /// The keys that were asked for.
  private(set) var keys: [String] = []
  /// What was given for the watched one.
  private(set) var given: Any?

  init(watching key: String? = nil, altering alters: @escaping (String) -> Bool = { _ in false }) {
    watched = key
    self.alters = alters
  }

  func noteAsked(_ key: String) { if !keys.contains(key) { keys.append(key) } }
  func noteGiven(_ value: Any, for key: String) { if key == watched { given = value } }
}

private struct NoSample: Error {}

/// Types of which samples are made without decoding them.
private protocol SampleType {
  /// How many values this one is in is the `depth`.
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
  /// One of two cases.
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

private struct SampleDecoder: Decoder {
  let session: SampleSession
  /// How many values this one is in: 0 for the sample itself, whose keys are looked at.
  var depth = 0
  /// Whether all of it has the other value, if it is in another one.
  var isAltered = false

  /// From here on nothing is altered, and before twice as deep everything ends, so that a type may have values of its own.
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
    guard depth < 2 * alteredDepth else { throw NoSample() }
    let isAltered = isAltered && depth < alteredDepth
    let found: Any? =
      switch type {
      case is Bool.Type: isAltered
      // What changes with capitals, accents, or spaces at the ends, or is not below zero, is found out.
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
    return try T(
      from: SampleDecoder(session: SampleSession(), depth: depth + 1, isAltered: isAltered))
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
    session.noteAsked(key.stringValue)
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
