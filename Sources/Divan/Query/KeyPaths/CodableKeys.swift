import Synchronization

/// Determines the key under which a property of a `Codable` type is stored.
///
/// Swift does not provide this. So samples of the type are decoded with one of two sample values
/// under each key. The property of a key is the one that always has the value given for that key,
/// with either value of that key and of the others. A computed property is detected, unless it
/// returns both values unchanged.
enum CodableKeys {
  /// Returns the key under which the property at a key path is stored.
  ///
  /// - Throws: `invalidQuery` if the key cannot be determined: the property is computed, or no
  ///   sample of its type can be made.
  static func key<Root: Decodable>(
    of path: AnyKeyPath, in _: Root.Type
  ) throws(DatabaseError) -> String { try find(path, in: Root.self).key }

  /// Returns the path of the property at a key path in documents of the type.
  ///
  /// - Throws: like ``key(of:in:)``; also if the property is the document's revision, which filters
  ///   do not support.
  static func path<Root: Decodable>(
    to path: AnyKeyPath, in _: Root.Type, from subject: QueryPath
  ) throws(DatabaseError) -> QueryPath {
    let found = try find(path, in: Root.self)
    // Metadata properties are not stored among the others.
    switch subject.steps.isEmpty ? found.role : .property {
    case .documentID: return .documentID
    case .property: return subject.appending(.key(found.key))
    case .revision:
      throw refusal(Root.self, "it is the document's revision, which queries cannot test", nil)
    }
  }

  /// The position and type of a stored property, which identify it.
  private struct PropertyIdentity: Hashable {
    let root: ObjectIdentifier
    let offset: Int
    let property: ObjectIdentifier
  }

  /// The cached results, because each takes a sample of the whole type per key.
  ///
  /// There are at most as many as the program's types have stored properties.
  private static let cache = Mutex<[PropertyIdentity: Found]>([:])

  /// How a property is stored.
  private struct Found {
    let key: String
    let role: Role

    enum Role { case property, documentID, revision }
  }

  private static func find<Root: Decodable>(
    _ path: AnyKeyPath, in _: Root.Type
  ) throws(DatabaseError) -> Found {
    let offset = (path as? PartialKeyPath<Root>).flatMap { MemoryLayout<Root>.offset(of: $0) }
    let identity = offset.map { offset in
      PropertyIdentity(
        root: ObjectIdentifier(Root.self), offset: offset,
        property: ObjectIdentifier(type(of: path).valueType))
    }
    if let identity, let found = cache.withLock({ $0[identity] }) { return found }
    let (key, given) = try search(for: path, in: Root.self)
    let found = Found(
      key: key,
      role: given is DocumentID
        ? .documentID : given is DocumentRevision ? .revision : .property)
    if let identity { cache.withLock { $0[identity] = found } }
    return found
  }

  private static func search<Root: Decodable>(
    for path: AnyKeyPath, in _: Root.Type
  ) throws(DatabaseError) -> (key: String, given: Any) {
    let session = SampleSession()
    do {
      _ = try Root(from: SampleDecoder(session: session))
    } catch {
      let key = session.keys.last.map { ", for \"\($0)\"" } ?? ""
      let type = (error as? NoSample)?.type ?? Root.self
      throw refusal(Root.self, "no sample value of \(type) can be created\(key)", error, type)
    }
    // Some types have no second value, such as optionals whose only value is nil.
    let fixed = Set(
      session.keys.filter { key in
        let session = SampleSession(altering: { $0 == key })
        return (try? Root(from: SampleDecoder(session: session))) == nil
      })
    for key in session.keys where !fixed.contains(key) {
      if let given = given(for: key, as: path, keeping: fixed, in: Root.self) {
        return (key, given)
      }
    }
    throw refusal(
      Root.self, "the property is computed, or no two sample values of its type can be created", nil
    )
  }

  /// Returns the other value of a key, if the property at a key path has the values of that key.
  ///
  /// Otherwise it returns nil. Keys in `fixed` are never altered.
  private static func given<Root: Decodable>(
    for key: String, as path: AnyKeyPath, keeping fixed: Set<String>, in _: Root.Type
  ) -> Any? {
    var given: Any?
    // The property's value when no value is given for it.
    var absent: Value?
    // All keys are altered first, so that no key path leads into an empty value.
    let states: [@Sendable (String) -> Bool] = [
      { !fixed.contains($0) }, { $0 != key && !fixed.contains($0) }, { $0 == key }, { _ in false },
    ]
    for (number, alters) in states.enumerated() {
      let session = SampleSession(watching: key, altering: alters)
      guard let sample = try? Root(from: SampleDecoder(session: session)) else {
        // Other keys may have no second value.
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

  /// Returns one of two sample values of a type; nil if none can be created.
  static func sample<T>(of _: T.Type, isAltered: Bool) -> T? {
    func made<D: Decodable>(_: D.Type) -> Any? {
      try? SampleDecoder.sample(D.self, isAltered: isAltered)
    }
    guard let type = T.self as? any Decodable.Type else { return nil }
    return made(type) as? T
  }

  /// Returns the stored form of a value that differs from a type's first sample; nil if there is
  /// none.
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
    _ type: Any.Type, _ reason: String, _ error: (any Error)?, _ unknown: Any.Type? = nil
  ) -> DatabaseError {
    let name = "name the property in a Query<Document>"
    return DatabaseError(
      .invalidQuery, "the key of a property of \(type) cannot be determined: \(reason)",
      hint: unknown.map { "If \($0) is an enumeration, declare it CaseIterable; or \(name)" }
        ?? "Use a stored property, or \(name)",
      underlying: error)
  }
}
