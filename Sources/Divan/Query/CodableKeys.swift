import Synchronization

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
    let found = try find(path, in: Root.self)
    // Marked properties of the document are not among the others.
    switch subject.steps.isEmpty ? found.role : .property {
    case .documentID: return .documentID
    case .property: return subject.appending(.key(found.key))
    case .revision:
      throw refusal(Root.self, "it is the document's revision, which queries do not ask for", nil)
    }
  }

  /// Where a stored property of a type is, and so which one it is.
  private struct Place: Hashable {
    let root: ObjectIdentifier
    let offset: Int
    let property: ObjectIdentifier
  }

  /// What was found out, since that takes a sample of the whole type for each of its keys; there are no more of them than
  /// a program's types have stored properties.
  private static let known = Mutex<[Place: Found]>([:])

  /// What a property is stored as.
  private struct Found {
    let key: String
    let role: Role

    enum Role { case property, documentID, revision }
  }

  private static func find<Root: Decodable>(
    _ path: AnyKeyPath, in _: Root.Type
  ) throws(DatabaseError) -> Found {
    let offset = (path as? PartialKeyPath<Root>).flatMap { MemoryLayout<Root>.offset(of: $0) }
    let place = offset.map { offset in
      Place(
        root: ObjectIdentifier(Root.self), offset: offset,
        property: ObjectIdentifier(type(of: path).valueType))
    }
    if let place, let found = known.withLock({ $0[place] }) { return found }
    let (key, given) = try search(for: path, in: Root.self)
    let found = Found(
      key: key,
      role: given is DocumentID
        ? .documentID : given is DocumentRevision ? .revision : .property)
    if let place { known.withLock { $0[place] = found } }
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
      throw refusal(Root.self, "no value of \(type) can be made up\(key)", error, type)
    }
    // Of some there is no second value, such as optional ones of which there is but nil.
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
      Root.self, "the property is computed, or no two values of its type can be made up", nil)
  }

  /// The other value for a key, if the property at a key path has what is given for that key; else nil.
  ///
  /// Those that are `fixed` are never altered.
  private static func given<Root: Decodable>(
    for key: String, as path: AnyKeyPath, keeping fixed: Set<String>, in _: Root.Type
  ) -> Any? {
    var given: Any?
    // What the property has where nothing is given for it.
    var absent: Value?
    // First all are altered, so that no path leads into what is empty.
    let states: [@Sendable (String) -> Bool] = [
      { !fixed.contains($0) }, { $0 != key && !fixed.contains($0) }, { $0 == key }, { _ in false },
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
    _ type: Any.Type, _ reason: String, _ error: (any Error)?, _ unknown: Any.Type? = nil
  ) -> DatabaseError {
    let name = "name the property in a Query<Document>"
    return DatabaseError(
      .invalidQuery, "it is not known where a property of \(type) is stored: \(reason)",
      hint: unknown.map { "If \($0) is an enumeration, declare it CaseIterable; or \(name)" }
        ?? "Ask for a property that is stored, or \(name)",
      underlying: error)
  }
}
