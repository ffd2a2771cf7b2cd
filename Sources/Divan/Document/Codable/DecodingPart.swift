import DivanLog

/// What all parts of one decoding share.
final class DecodingSession {
  let userInfo: [CodingUserInfoKey: Any]
  /// The document, for marked properties.
  let id: String?
  let revision: RevisionID?
  /// How many calls of `init(from:)` are going on within each other.
  var callDepth = 0

  /// Three for each level of nesting, since wrappers need not add one.
  static let callLimit = 3 * DocumentLimits.depth

  init(userInfo: [CodingUserInfoKey: Any], id: String?, revision: RevisionID?) {
    self.userInfo = userInfo
    self.id = id
    self.revision = revision
  }
}

/// One value that is being decoded: a document, or what `superDecoder` and nested containers began.
///
/// Nothing is decoded before it is asked for. What is asked for is found in the stored form by its
/// key, without decoding what stands before it.
final class DecodingPart {
  let session: DecodingSession
  let bytes: SharedBytes
  private let basePath: [any CodingKey]
  private var path: [any CodingKey] = []

  /// A value within the bytes, and how one got there.
  struct Place {
    var start: UInt32
    var end: UInt32
    var pathDepth: UInt16
    /// Whether this is the document, to which marked properties belong.
    var holdsMarks: Bool

    var range: Range<Int> { Int(start)..<Int(end) }
  }

  init(_ session: DecodingSession, _ bytes: SharedBytes, path: [any CodingKey] = []) {
    self.session = session
    self.bytes = bytes
    basePath = path
  }

  /// The whole value; nil if it is larger than any that is stored.
  func whole(holdsMarks: Bool) -> Place? {
    guard let end = UInt32(exactly: bytes.count) else { return nil }
    return Place(start: 0, end: end, pathDepth: 0, holdsMarks: holdsMarks)
  }

  func codingPath(depth: UInt16) -> [any CodingKey] { basePath + path.prefix(Int(depth)) }

  func fail(
    _ misfit: Misfit, _ type: Any.Type, _ depth: UInt16, key: (any CodingKey)? = nil
  ) -> DecodingError {
    misfit.error(type, codingPath(depth: depth), key: key)
  }
}

extension DecodingPart {
  /// Decodes the value in a range, which is a property or an element of something `depth` deep.
  func decode<T: Decodable>(
    _ type: T.Type, _ range: Range<Int>, key: some CodingKey, depth: UInt16
  ) throws -> T {
    do throws(Misfit) {
      if let value = try direct(type, range) { return value }
    } catch {
      throw fail(error, type, depth, key: key)
    }
    path.removeLast(path.count - Int(depth))
    path.append(key)
    defer { path.removeLast(path.count - Int(depth)) }
    return try nested(
      type,
      Place(
        start: UInt32(range.lowerBound), end: UInt32(range.upperBound), pathDepth: depth + 1,
        holdsMarks: false))
  }

  /// Decodes the value at a place.
  func decode<T: Decodable>(_ type: T.Type, at place: Place) throws -> T {
    do throws(Misfit) {
      if let value = try direct(type, place.range) { return value }
    } catch {
      throw fail(error, type, place.pathDepth)
    }
    return try nested(type, place)
  }

  private func nested<T: Decodable>(_ type: T.Type, _ place: Place) throws -> T {
    session.callDepth += 1
    defer { session.callDepth -= 1 }
    guard session.callDepth <= DecodingSession.callLimit else {
      throw fail(.tooDeep, type, place.pathDepth)
    }
    return try T(from: PlaceDecoder(part: self, place: place))
  }

  /// The marked property of the document, if `type` is that of one.
  func mark<T>(_ type: T.Type) -> T? {
    if type == DocumentID.self { return same(DocumentID(wrappedValue: session.id), as: type) }
    if type == DocumentRevision.self {
      return same(DocumentRevision(wrappedValue: session.revision), as: type)
    }
    return nil
  }

  /// The container at a place.
  func container(_ place: Place, isObject: Bool) throws -> ValueFormat.Container {
    let expected: Any.Type = isObject ? [String: Any].self : [Any].self
    do throws(Misfit) {
      return try container(place.range, isObject: isObject)
    } catch {
      throw fail(error, expected, place.pathDepth)
    }
  }

  func container(
    _ range: Range<Int>, isObject: Bool
  ) throws(Misfit) -> ValueFormat.Container {
    let found = bytes.withSpan {
      ValueFormat.container($0, at: range.lowerBound, end: range.upperBound)
    }
    guard let found, found.isObject == isObject else { throw misfit(range) }
    return found
  }

  /// A part of its own for a value, or for null if there is none.
  func part(
    _ range: Range<Int>?, _ path: [any CodingKey]
  ) -> DecodingPart {
    let own = range.flatMap { bytes.slice($0.lowerBound, $0.count) }
    return DecodingPart(session, own ?? DecodingPart.null, path: path)
  }

  private static let null = SharedBytes(copying: [ValueFormat.Tag.null])
}
