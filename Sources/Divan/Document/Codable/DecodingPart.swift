import DivanLog

/// The state that all parts of one decoding share.
final class DecodingSession {
  let userInfo: [CodingUserInfoKey: any Sendable]
  /// The document's ID, for marked properties.
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
  /// The offset of the bytes within those of the outermost part.
  let offset: Int
  private let basePath: [any CodingKey]
  private var path: [any CodingKey] = []

  /// A value within the bytes, and the path to it.
  struct Place {
    var start: UInt32
    var end: UInt32
    var pathDepth: UInt16
    /// The number of nested calls of `init(from:)`.
    var callDepth: UInt16
    /// Whether this is the document that marked properties belong to.
    var holdsMarks: Bool

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
  func whole(callDepth: UInt16 = 0, holdsMarks: Bool) -> Place? {
    guard let end = UInt32(exactly: bytes.count) else { return nil }
    return Place(
      start: 0, end: end, pathDepth: 0, callDepth: callDepth, holdsMarks: holdsMarks)
  }

  func codingPath(depth: UInt16) -> [any CodingKey] { basePath + path.prefix(Int(depth)) }

  func fail(
    _ typeMismatch: TypeMismatch, _ type: Any.Type, _ depth: UInt16, key: (any CodingKey)? = nil
  ) -> DecodingError {
    typeMismatch.error(type, codingPath(depth: depth), key: key)
  }
}

extension DecodingPart {
  /// Decodes the value in a range, which is a property or an element of the value at a place.
  func decode<T: Decodable>(
    _ type: T.Type, _ range: Range<Int>, of place: Place, key: some CodingKey
  ) throws -> T {
    if let direct = DirectType(type) {
      do throws(TypeMismatch) {
        return try read(direct, type, range)
      } catch {
        if !direct.isArray { throw fail(error, type, place.pathDepth, key: key) }
      }
    }
    let depth = Int(place.pathDepth)
    if path.count > depth { path.removeLast(path.count - depth) }
    path.append(key)
    defer { if path.count > depth { path.removeLast(path.count - depth) } }
    return try nested(
      type,
      Place(
        start: UInt32(range.lowerBound), end: UInt32(range.upperBound),
        pathDepth: place.pathDepth + 1, callDepth: place.callDepth + 1, holdsMarks: false))
  }

  /// Decodes the value at a place.
  func decode<T: Decodable>(_ type: T.Type, at place: Place) throws -> T {
    if let direct = DirectType(type) {
      do throws(TypeMismatch) {
        return try read(direct, type, place.range)
      } catch {
        if !direct.isArray { throw fail(error, type, place.pathDepth) }
      }
    }
    var inner = place
    inner.callDepth += 1
    return try nested(type, inner)
  }

  private func nested<T: Decodable>(_ type: T.Type, _ place: Place) throws -> T {
    guard place.callDepth <= DecodingSession.callLimit else {
      throw fail(.tooDeep, type, place.pathDepth)
    }
    if let keys = session.keys, isUnordered(type) { keys.noteUnordered(at: start(of: place)) }
    let value = try T(from: LocationDecoder(part: self, place: place))
    try checkKeys(of: value, place)
    return value
  }

  /// Throws if a dictionary has fewer keys than the object.
  ///
  /// Then some keys are texts that Swift treats as equal: storing the dictionary again would lose
  /// the values of the others.
  private func checkKeys<T>(of value: T, _ place: Place) throws {
    // Most types are excluded by their size, which costs nothing.
    guard MemoryLayout<T>.size == MemoryLayout<[String: Int]>.size,
      let dictionary = value as? any TextKeyed,
      let object = try? container(place.range, isObject: true),
      let reader = try? ObjectReader(object, in: bytes),
      dictionary.keyCount != reader.names(in: bytes).count
    else { return }
    throw fail(.keysLookAlike, T.self, place.pathDepth)
  }

  /// Whether a type is that of a marked property.
  func isMark(_ type: Any.Type) -> Bool {
    type == DocumentID.self || type == DocumentRevision.self
  }

  /// Returns the marked property of the document, of a type for which `isMark` is true.
  func mark<T>(_ type: T.Type) -> T {
    type == DocumentID.self
      ? identical(DocumentID(wrappedValue: session.id), as: type)
      : identical(DocumentRevision(wrappedValue: session.revision), as: type)
  }

  /// Returns the container at a place.
  func container(_ place: Place, isObject: Bool) throws -> ValueFormat.Container {
    let expected: Any.Type = isObject ? [String: Any].self : [Any].self
    do throws(TypeMismatch) {
      return try container(place.range, isObject: isObject)
    } catch {
      throw fail(error, expected, place.pathDepth)
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

  /// Returns the offset of a place within the bytes of the outermost part.
  func start(of place: Place) -> Int { offset + Int(place.start) }

  private static let null = SharedBytes(copying: [ValueFormat.Tag.null])
}

/// Dictionaries whose keys are the names of an object's properties.
private protocol TextKeyed {
  var keyCount: Int { get }
}

extension Dictionary: TextKeyed where Key == String {
  var keyCount: Int { count }
}
