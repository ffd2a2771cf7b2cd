import DivanLog

/// What all parts of one encoding share.
final class EncodingSession {
  var userInfo: [CodingUserInfoKey: Any]
  /// The marked properties that were met.
  var id: (key: String, mark: DocumentID)?
  var revision: (key: String, mark: DocumentRevision)?
  /// The types of the keys by which the document's properties were named.
  var keyTypes: [any CodingKey.Type] = []
  /// What a call met that cannot throw.
  var failure: (any Error)?
  /// How many calls of `encode(to:)` are going on within each other.
  var callDepth = 0

  /// Three for each level of nesting, since wrappers need not add one.
  static let callLimit = 3 * DocumentLimits.depth

  init(userInfo: [CodingUserInfoKey: Any]) { self.userInfo = userInfo }
}

/// One value that is being encoded: a document, or what `nestedContainer` and `superEncoder` began.
///
/// The stored form is written from the beginning to the end, as long as each value is complete
/// before the next one begins. `encode` takes care of that by itself. Containers that the caller
/// holds may be filled in any order, so each is a part of its own, which is put into its place
/// when the container around it is closed.
final class EncodingPart {
  let session: EncodingSession
  private let basePath: [any CodingKey]
  /// How many containers there are around this part.
  private let baseDepth: Int
  private let isDocument: Bool
  private var encoder = ValueEncoder()
  /// The containers that are open, outermost first.
  private var open: [OpenContainer] = []
  private var path: [any CodingKey] = []
  private var children: [Child] = []
  private var lastTicket: UInt32 = 0
  private var isFinished = false

  private struct OpenContainer {
    /// Names this container among all of the part.
    var ticket: UInt32
    var isObject: Bool
    /// Whether the properties marked in here are those of the document.
    var holdsMarks: Bool
    var pathDepth: Int
    var count = 0
  }

  /// A part that belongs into an open container.
  private struct Child {
    var ticket: UInt32
    /// Its key; nil in an array.
    var key: String?
    /// Where the null stands that it replaces, in an array.
    var position = 0
    var isObject: Bool?
    var part: EncodingPart
  }

  /// Which container a handle is of.
  struct Place {
    var ticket: UInt32
    var level: UInt32
  }

  /// Where the value of an `encode(to:)` belongs.
  struct Slot {
    var ticket: UInt32
    /// How many containers are around it.
    var level: UInt16
    var pathDepth: UInt16
    /// How many bytes there were before it.
    var start: UInt32
    var holdsMarks: Bool
  }

  /// A document.
  init(_ session: EncodingSession) {
    self.session = session
    basePath = []
    baseDepth = 0
    isDocument = true
    encoder.begin(isNested: false)
  }

  private init(_ session: EncodingSession, path: [any CodingKey], depth: Int) {
    self.session = session
    basePath = path
    baseDepth = depth
    isDocument = false
    encoder.begin(isNested: true)
  }
}

// MARK: - Values

extension EncodingPart {
  /// The slot of the whole part.
  func outermostSlot(holdsMarks: Bool) -> Slot {
    lastTicket += 1
    return Slot(ticket: lastTicket, level: 0, pathDepth: 0, start: 0, holdsMarks: holdsMarks)
  }

  /// Encodes a value into the slot of the whole part.
  func encodeOutermost(_ value: some Encodable) throws {
    try write(value, into: outermostSlot(holdsMarks: true))
  }

  /// Adds a property that is written by `body`.
  @inline(__always)
  func addProperty(
    _ key: some CodingKey, of place: Place,
    _ body: (inout ValueEncoder) throws(DatabaseError) -> Void
  ) throws {
    try requireOpen(place, key)
    let savepoint = encoder.savepoint
    do throws(DatabaseError) {
      try addKey(key, of: place)
      try body(&encoder)
    } catch {
      encoder.restore(savepoint)
      throw refusal(error, codingPath(of: place) + [key])
    }
  }

  /// Adds a property of any type.
  func addProperty<T: Encodable>(_ key: some CodingKey, of place: Place, _ value: T) throws {
    try requireOpen(place, key)
    if open[Int(place.level)].holdsMarks, takeMark(value, key) { return }
    let savepoint = encoder.savepoint
    do throws(DatabaseError) {
      try addKey(key, of: place)
      if try EncodingPart.write(value, to: &encoder) { return }
    } catch {
      encoder.restore(savepoint)
      throw refusal(error, codingPath(of: place) + [key])
    }
    try writeNested(value, at: key, savepoint)
  }

  /// Adds an element that is written by `body`.
  @inline(__always)
  func addElement(
    to place: Place, _ body: (inout ValueEncoder) throws(DatabaseError) -> Void
  ) throws {
    let index = try beginElement(place)
    let savepoint = encoder.savepoint
    do throws(DatabaseError) {
      try requireRoom()
      try body(&encoder)
    } catch {
      encoder.restore(savepoint)
      throw refusal(error, codingPath(of: place) + [ElementKey(index)])
    }
    open[Int(place.level)].count = index + 1
  }

  /// Adds an element of any type.
  func addElement<T: Encodable>(to place: Place, _ value: T) throws {
    let index = try beginElement(place)
    let savepoint = encoder.savepoint
    var isWritten = false
    do throws(DatabaseError) {
      try requireRoom()
      isWritten = try EncodingPart.write(value, to: &encoder)
    } catch {
      encoder.restore(savepoint)
      throw refusal(error, codingPath(of: place) + [ElementKey(index)])
    }
    if !isWritten { try writeNested(value, at: ElementKey(index), savepoint) }
    open[Int(place.level)].count = index + 1
  }

  /// How many elements an array has.
  func count(of place: Place) -> Int { isOpen(place) ? open[Int(place.level)].count : 0 }

  /// Fills a slot with what `body` writes.
  func fill(
    _ slot: Slot, _ body: (inout ValueEncoder) throws(DatabaseError) -> Void
  ) throws {
    try requireEmpty(slot)
    let savepoint = encoder.savepoint
    do throws(DatabaseError) {
      try body(&encoder)
    } catch {
      encoder.restore(savepoint)
      throw refusal(error, codingPath(of: slot))
    }
  }

  /// Fills a slot with a value of any type.
  func fill<T: Encodable>(_ slot: Slot, with value: T) throws {
    try requireEmpty(slot)
    let savepoint = encoder.savepoint
    do throws(DatabaseError) {
      if try EncodingPart.write(value, to: &encoder) { return }
    } catch {
      encoder.restore(savepoint)
      throw refusal(error, codingPath(of: slot))
    }
    do {
      try write(value, into: nextSlot(holdsMarks: slot.holdsMarks))
    } catch {
      takeBack(to: savepoint, level: Int(slot.level), pathDepth: Int(slot.pathDepth))
      throw error
    }
  }

  private func nextSlot(holdsMarks: Bool) -> Slot {
    lastTicket += 1
    return Slot(
      ticket: lastTicket, level: UInt16(truncatingIfNeeded: open.count),
      pathDepth: UInt16(truncatingIfNeeded: path.count), start: UInt32(encoder.size),
      holdsMarks: holdsMarks)
  }

  /// Has a value encode itself as a property or an element, and closes what it opened.
  private func writeNested(
    _ value: some Encodable, at key: some CodingKey, _ savepoint: ValueEncoder.Savepoint
  ) throws {
    let (level, pathDepth) = (open.count, path.count)
    path.append(key)
    do {
      try write(value, into: nextSlot(holdsMarks: false))
    } catch {
      takeBack(to: savepoint, level: level, pathDepth: pathDepth)
      throw error
    }
    path.removeLast()
  }

  private func write(_ value: some Encodable, into slot: Slot) throws {
    session.callDepth += 1
    defer { session.callDepth -= 1 }
    guard session.callDepth <= EncodingSession.callLimit else {
      throw refusal(
        DatabaseError(
          .documentTooLarge, "values encode each other more than \(EncodingSession.callLimit) deep"),
        codingPath(of: slot))
    }
    try value.encode(to: SlotEncoder(part: self, slot: slot))
    try close(slot)
  }

  private func takeBack(to savepoint: ValueEncoder.Savepoint, level: Int, pathDepth: Int) {
    if !children.isEmpty {
      let kept = open.prefix(level).map(\.ticket)
      children.removeAll { !kept.contains($0.ticket) }
    }
    open.removeLast(open.count - level)
    path.removeLast(path.count - pathDepth)
    encoder.restore(savepoint)
  }

  /// Notes the document's ID or revision if `value` is one.
  private func takeMark<T>(_ value: T, _ key: some CodingKey) -> Bool {
    if let mark = same(value, as: DocumentID.self) {
      session.id = (key.stringValue, mark)
      return true
    }
    if let mark = same(value, as: DocumentRevision.self) {
      session.revision = (key.stringValue, mark)
      return true
    }
    return false
  }
}

// MARK: - Containers

extension EncodingPart {
  /// The container in a slot: a new one, or the one that was opened there already.
  func container(in slot: Slot, isObject: Bool, keys: (any CodingKey.Type)? = nil) -> Place {
    let place = Place(ticket: slot.ticket, level: UInt32(slot.level))
    if isDocument, slot.level == 0, let keys { session.keyTypes.append(keys) }
    if isOpen(place) {
      if open[Int(place.level)].isObject != isObject { misuse(codingPath(of: slot)) }
      return place
    }
    guard !isFinished, open.count == Int(slot.level), encoder.size == Int(slot.start) else {
      misuse(codingPath(of: slot))
      return .nowhere
    }
    return openContainer(slot, isObject: isObject) ? place : .nowhere
  }

  private func openContainer(_ slot: Slot, isObject: Bool) -> Bool {
    guard baseDepth + open.count < DocumentLimits.depth else {
      let path = codingPath(of: slot)
      note(refusal(DocumentLimits.depthError(path: ""), path))
      return false
    }
    if isObject { encoder.beginObject() } else { encoder.beginArray() }
    open.append(
      OpenContainer(
        ticket: slot.ticket, isObject: isObject, holdsMarks: slot.holdsMarks && isObject,
        pathDepth: Int(slot.pathDepth)))
    return true
  }

  /// Closes what was opened in a slot; a value that wrote nothing is an empty object.
  private func close(_ slot: Slot) throws {
    if open.count == Int(slot.level) {
      if encoder.size == Int(slot.start) {
        encoder.beginObject()
        _ = encoder.endObject()
      }
      return
    }
    guard open.count == Int(slot.level) + 1, let container = open.last else {
      throw refusal(EncodingPart.misuseError, codingPath(of: slot))
    }
    if !children.isEmpty { try placeChildren(of: container) }
    if container.isObject {
      if let duplicate = encoder.endObject() {
        throw refusal(
          DatabaseError(.invalidValue, "its `encode(to:)` encodes the property twice"),
          codingPath(of: slot) + [PropertyKey(duplicate.key)])
      }
    } else {
      encoder.endArray()
    }
    open.removeLast()
  }

  /// Puts the parts that were made for a container into their places.
  private func placeChildren(of container: OpenContainer) throws {
    let own = children.filter { $0.ticket == container.ticket }
    guard !own.isEmpty else { return }
    children.removeAll { $0.ticket == container.ticket }
    if container.isObject {
      for child in own {
        let bytes = try child.part.finish()
        try require(bytes, fitsAt: child.part)
        withUTF8(of: child.key ?? "") { encoder.addKey($0, source: 0) }
        bytes.withSpan { encoder.add(stored: $0) }
      }
      return
    }
    let elements = encoder.removeElements()
    var next = 0
    var position = 0
    // Positions count from the beginning of the array, as those of the children do.
    let begin = encoder.size
    try elements.withSpan { elements in
      while let end = ValueFormat.skip(elements, at: position, end: elements.count) {
        if next < own.count, own[next].position - begin == position {
          let bytes = try own[next].part.finish()
          try require(bytes, fitsAt: own[next].part)
          bytes.withSpan { encoder.add(stored: $0) }
          next += 1
        } else {
          encoder.add(stored: elements.extracting(position..<end))
        }
        position = end
      }
    }
    precondition(next == own.count, "The place of a part was lost")
  }

  private func require(_ bytes: SharedBytes, fitsAt part: EncodingPart) throws {
    guard encoder.size + bytes.count <= DocumentLimits.sizeInBytes else {
      throw refusal(DocumentLimits.sizeError, part.basePath)
    }
  }

  /// The container that is the value of a property.
  func nestedContainer(
    _ key: some CodingKey, in place: Place, isObject: Bool
  ) -> (EncodingPart, Place) {
    if let child = children.first(where: {
      $0.ticket == place.ticket && $0.key == key.stringValue && $0.isObject == isObject
    }) {
      // Types that share a coding key fill the same container.
      return (child.part, Place(ticket: 1, level: 0))
    }
    return nestedContainer(part(for: key, in: place, isObject: isObject), isObject: isObject)
  }

  /// The container that is the next element.
  func nestedContainer(inArray place: Place, isObject: Bool) -> (EncodingPart, Place) {
    nestedContainer(element(in: place, isObject: isObject), isObject: isObject)
  }

  private func nestedContainer(
    _ part: EncodingPart, isObject: Bool
  ) -> (EncodingPart, Place) {
    (part, part.container(in: part.outermostSlot(holdsMarks: false), isObject: isObject))
  }

  /// An encoder for the value of a property.
  func nestedEncoder(_ key: some CodingKey, in place: Place) -> any Encoder {
    let holdsMarks = isOpen(place) && open[Int(place.level)].holdsMarks
    let part = part(for: key, in: place, isObject: nil)
    return SlotEncoder(part: part, slot: part.outermostSlot(holdsMarks: holdsMarks))
  }

  /// An encoder for the next element.
  func nestedEncoder(inArray place: Place) -> any Encoder {
    let part = element(in: place, isObject: nil)
    return SlotEncoder(part: part, slot: part.outermostSlot(holdsMarks: false))
  }

  private func part(
    for key: some CodingKey, in place: Place, isObject: Bool?
  ) -> EncodingPart {
    let part = EncodingPart(
      session, path: codingPath(of: place) + [key], depth: baseDepth + Int(place.level) + 1)
    guard isTop(place), part.baseDepth < DocumentLimits.depth else {
      fail(place, part)
      return part
    }
    if let reserved = reservedError(key.stringValue, of: place) {
      note(refusal(reserved, part.basePath))
    }
    children.append(
      Child(ticket: place.ticket, key: key.stringValue, isObject: isObject, part: part))
    return part
  }

  private func element(in place: Place, isObject: Bool?) -> EncodingPart {
    let index = count(of: place)
    let part = EncodingPart(
      session, path: codingPath(of: place) + [ElementKey(index)],
      depth: baseDepth + Int(place.level) + 1)
    guard isTop(place), part.baseDepth < DocumentLimits.depth else {
      fail(place, part)
      return part
    }
    children.append(
      Child(
        ticket: place.ticket, position: encoder.size, isObject: isObject, part: part))
    encoder.addNull()
    open[Int(place.level)].count = index + 1
    return part
  }

  /// Notes why a part has no place; it is kept by whoever asked for it, and by nobody else.
  private func fail(_ place: Place, _ part: EncodingPart) {
    if isTop(place) {
      note(refusal(DocumentLimits.depthError(path: ""), part.basePath))
    } else {
      misuse(part.basePath)
    }
    part.isFinished = true
  }

  /// Ends the part, and returns its stored form.
  func finish() throws -> SharedBytes {
    isFinished = true
    try close(Slot(ticket: 0, level: 0, pathDepth: 0, start: 0, holdsMarks: false))
    try requireRoom()
    return encoder.bytes
  }

  /// Whether the value that was encoded is an object.
  var isObject: Bool { encoder.firstByte.map { $0 & 0xF0 == ValueFormat.Tag.object } ?? false }
}

// MARK: - Checks

extension EncodingPart.Place {
  /// What no container has.
  static let nowhere = EncodingPart.Place(ticket: .max, level: .max)
}

extension EncodingPart {
  private func isOpen(_ place: Place) -> Bool {
    place.level < open.count && open[Int(place.level)].ticket == place.ticket
  }

  /// Whether a container is open, and no other in it.
  @inline(__always)
  private func isTop(_ place: Place) -> Bool {
    Int(place.level) == open.count - 1 && open[Int(place.level)].ticket == place.ticket
  }

  @inline(__always)
  private func requireOpen(_ place: Place, _ key: some CodingKey) throws {
    guard isTop(place) else {
      throw refusal(EncodingPart.misuseError, codingPath(of: place) + [key])
    }
  }

  @inline(__always)
  private func beginElement(_ place: Place) throws -> Int {
    guard isTop(place) else {
      throw refusal(EncodingPart.misuseError, codingPath(of: place))
    }
    return open[Int(place.level)].count
  }

  private func requireEmpty(_ slot: Slot) throws {
    guard !isFinished, open.count == Int(slot.level), encoder.size == Int(slot.start) else {
      throw refusal(EncodingPart.misuseError, codingPath(of: slot))
    }
  }

  @inline(__always)
  private func requireRoom(for size: Int = 0) throws(DatabaseError) {
    guard encoder.size + size <= DocumentLimits.sizeInBytes else { throw DocumentLimits.sizeError }
  }

  @inline(__always)
  private func addKey(_ key: some CodingKey, of place: Place) throws(DatabaseError) {
    let name = key.stringValue
    try requireRoom(for: name.utf8.count)
    if let error = reservedError(name, of: place) { throw error }
    withUTF8(of: name) { encoder.addKey($0, source: 0) }
  }

  /// The error that a name is one of those that documents keep for themselves.
  @inline(__always)
  private func reservedError(_ name: String, of place: Place) -> DatabaseError? {
    guard place.level == 0, isDocument, name.utf8.first == 0x5F else { return nil }
    return PropertyNames.reserved(name)
  }

  func codingPath(of slot: Slot) -> [any CodingKey] { basePath + path.prefix(Int(slot.pathDepth)) }

  func codingPath(of place: Place) -> [any CodingKey] {
    isOpen(place) ? basePath + path.prefix(open[Int(place.level)].pathDepth) : basePath
  }

  private func refusal(_ error: DatabaseError, _ path: [any CodingKey]) -> EncodingError {
    EncodingError.invalidValue(
      (),
      EncodingError.Context(
        codingPath: path, debugDescription: error.message, underlyingError: error))
  }

  private func note(_ error: any Error) { if session.failure == nil { session.failure = error } }

  private func misuse(_ path: [any CodingKey]) {
    note(refusal(EncodingPart.misuseError, path))
  }

  private static var misuseError: DatabaseError {
    DatabaseError(
      .invalidValue,
      "its `encode(to:)` writes two values where one belongs, or after it has ended")
  }
}
