import DivanLog

/// The state that all parts of one decoding share.
final class DecodingSession {
  let userInfo: [CodingUserInfoKey: any Sendable]
  /// The document's ID, for metadata properties.
  let id: String?
  let revision: RevisionID?
  /// Records the keys that types know; nil if they are not needed.
  let keys: KnownKeys?
  /// The maximum number of nested calls of `init(from:)`: three for each level of nesting, since
  /// wrappers need not add one.
  static let callLimit = UInt16(3 * DocumentLimits.depth)

  init(
    userInfo: [CodingUserInfoKey: any Sendable], id: String?, revision: RevisionID?,
    keys: KnownKeys? = nil
  ) {
    self.keys = keys
    self.userInfo = userInfo
    self.id = id
    self.revision = revision
  }
}

/// One value that is being decoded: a document, or one from `superDecoder` or a nested container.
///
/// Values are decoded only on request. A property is found in the stored form by its key, without
/// decoding what precedes it.
final class DecodingPart {
  let session: DecodingSession
  let bytes: SharedBytes
  /// The offset of the bytes within the bytes of the outermost part.
  let offset: Int
  private let basePath: [any CodingKey]
  private var path: [any CodingKey] = []

  /// The location of a value within the bytes, and the path to it.
  struct Location {
    var start: UInt32
    var end: UInt32
    var pathDepth: UInt16
    /// The number of nested calls of `init(from:)`.
    var callDepth: UInt16
    /// Whether this is the document to which metadata properties belong.
    var hasMetadata: Bool

    var range: Range<Int> { Int(start)..<Int(end) }
  }

  init(
    _ session: DecodingSession, _ bytes: SharedBytes, path: [any CodingKey] = [], offset: Int = 0
  ) {
    self.session = session
    self.bytes = bytes
    self.offset = offset
    basePath = path
  }

  /// Returns the whole value; nil if it is larger than any stored value.
  func whole(callDepth: UInt16 = 0, hasMetadata: Bool) -> Location? {
    guard let end = UInt32(exactly: bytes.count) else { return nil }
    return Location(
      start: 0, end: end, pathDepth: 0, callDepth: callDepth, hasMetadata: hasMetadata)
  }

  func codingPath(depth: UInt16) -> [any CodingKey] { basePath + path.prefix(Int(depth)) }

  func fail(
    _ typeMismatch: TypeMismatch, _ type: Any.Type, _ depth: UInt16, key: (any CodingKey)? = nil
  ) -> DecodingError {
    typeMismatch.error(type, codingPath(depth: depth), key: key)
  }
}

extension DecodingPart {
  /// Decodes the whole value for a user, who gets a ``DatabaseError``.
  func decodeWhole<T: Decodable>(
    _ type: T.Type, hasMetadata: Bool, documentID: String
  ) throws -> T {
    do {
      guard let location = whole(hasMetadata: hasMetadata) else { throw fail(.damaged, type, 0) }
      return try decode(type, at: location)
    } catch {
      throw DatabaseError.decoding(type, error, documentID: documentID)
    }
  }

  /// Decodes the value in a range, which is a property or an element of the value at a location.
  func decode<T: Decodable>(
    _ type: T.Type, _ range: Range<Int>, of location: Location, key: some CodingKey
  ) throws -> T {
    if let direct = DirectType(type) {
      do throws(TypeMismatch) {
        return try read(direct, type, range)
      } catch {
        if !direct.isArray { throw fail(error, type, location.pathDepth, key: key) }
      }
    }
    let depth = Int(location.pathDepth)
    if path.count > depth { path.removeLast(path.count - depth) }
    path.append(key)
    defer { if path.count > depth { path.removeLast(path.count - depth) } }
    return try nested(
      type,
      Location(
        start: UInt32(range.lowerBound), end: UInt32(range.upperBound),
        pathDepth: location.pathDepth + 1, callDepth: location.callDepth + 1, hasMetadata: false))
  }

  /// Decodes the value at a location.
  func decode<T: Decodable>(_ type: T.Type, at location: Location) throws -> T {
    if let direct = DirectType(type) {
      do throws(TypeMismatch) {
        return try read(direct, type, location.range)
      } catch {
        if !direct.isArray { throw fail(error, type, location.pathDepth) }
      }
    }
    var inner = location
    inner.callDepth += 1
    return try nested(type, inner)
  }

  private func nested<T: Decodable>(_ type: T.Type, _ location: Location) throws -> T {
    guard location.callDepth <= DecodingSession.callLimit else {
      throw fail(.tooDeep, type, location.pathDepth)
    }
    if let keys = session.keys, isUnordered(type) { keys.noteUnordered(at: start(of: location)) }
    let value = try T(from: LocationDecoder(part: self, location: location))
    try checkKeys(of: value, location)
    return value
  }

  /// Throws if a dictionary has fewer keys than the object.
  ///
  /// Then some keys are texts that Swift treats as equal: storing the dictionary again would lose
  /// the values of the others.
  private func checkKeys<T>(of value: T, _ location: Location) throws {
    // Most types are excluded by their size, which costs nothing.
    guard MemoryLayout<T>.size == MemoryLayout<[String: Int]>.size,
      let dictionary = value as? any TextKeyed,
      let object = try? container(location.range, isObject: true),
      let reader = try? ObjectReader(object, in: bytes),
      dictionary.keyCount != reader.names(in: bytes).count
    else { return }
    throw fail(.keysLookAlike, T.self, location.pathDepth)
  }

  /// Whether a type is that of a metadata property.
  func isMetadata(_ type: Any.Type) -> Bool {
    type == DocumentID.self || type == DocumentRevision.self
  }

  /// Returns the metadata property of the document, of a type for which `isMetadata` is true.
  func metadata<T>(_ type: T.Type) -> T {
    type == DocumentID.self
      ? identical(DocumentID(wrappedValue: session.id), as: type)
      : identical(DocumentRevision(wrappedValue: session.revision), as: type)
  }

  /// Returns the container at a location.
  func container(_ location: Location, isObject: Bool) throws -> ValueFormat.Container {
    let expected: Any.Type = isObject ? [String: Any].self : [Any].self
    do throws(TypeMismatch) {
      return try container(location.range, isObject: isObject)
    } catch {
      throw fail(error, expected, location.pathDepth)
    }
  }

  func container(
    _ range: Range<Int>, isObject: Bool
  ) throws(TypeMismatch) -> ValueFormat.Container {
    let found = bytes.withSpan {
      ValueFormat.container($0, at: range.lowerBound, end: range.upperBound)
    }
    guard let found, found.isObject == isObject else { throw typeMismatch(range) }
    return found
  }

  /// Returns a new part for a value, or for null if there is none.
  func part(
    _ range: Range<Int>?, _ path: [any CodingKey]
  ) -> DecodingPart {
    let own = range.flatMap { bytes.slice($0.lowerBound, $0.count) }
    return DecodingPart(
      session, own ?? DecodingPart.null, path: path, offset: offset + (range?.lowerBound ?? 0))
  }

  /// Returns the offset of a location within the bytes of the outermost part.
  func start(of location: Location) -> Int { offset + Int(location.start) }

  private static let null = SharedBytes(copying: [ValueFormat.Tag.null])
}

/// Dictionaries whose keys are the names of an object's properties.
private protocol TextKeyed {
  var keyCount: Int { get }
}

extension Dictionary: TextKeyed where Key == String {
  var keyCount: Int { count }
}
