import DivanLog

/// The part of one value that is written so far: its stored form, and its open containers.
///
/// A value type on which each step is one call: none of the user's code runs during a step.
struct EncodingPage: ~Copyable {
  private var encoder = ValueEncoder()
  /// The open containers, outermost first.
  private var open: [OpenContainer] = []
  /// The keys that lead to the value being encoded.
  private var path: [any CodingKey] = []
  private(set) var children: [Child] = []
  private var lastTicket: UInt32 = 0
  var isFinished = false
  private let isDocument: Bool
  /// The number of containers around the page.
  private let baseDepth: Int

  private struct OpenContainer {
    /// Identifies this container within the page.
    var ticket: UInt32
    var isObject: Bool
    /// Whether the metadata properties in this container are the document's.
    var hasMetadata: Bool
    var pathDepth: UInt16
    var callDepth: UInt16
    /// The number of elements, if this is an array.
    var count = 0
  }

  /// Creates a page for a document, or for a part of one that is in some containers.
  init(isDocument: Bool, depth: Int) {
    self.isDocument = isDocument
    baseDepth = depth
    encoder.begin(isNested: !isDocument)
  }
}

// MARK: - Values

extension EncodingPage {
  /// The slot of the whole page.
  mutating func outermostSlot(hasMetadata: Bool, callDepth: UInt16) -> Slot {
    lastTicket &+= 1
    return Slot(
      ticket: lastTicket, start: 0, level: 0, pathDepth: 0, callDepth: callDepth,
      hasMetadata: hasMetadata)
  }

  /// Adds a property that `body` writes.
  @inline(__always)
  mutating func addProperty(
    _ name: String, of location: Location,
    _ body: (inout ValueEncoder) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    guard isTop(location) else { throw EncodingPage.misuseError }
    let savepoint = encoder.savepoint
    do throws(DatabaseError) {
      try addKey(name, of: location)
      try body(&encoder)
    } catch {
      encoder.restore(savepoint)
      throw error
    }
  }

  /// Begins a property of any type.
  mutating func beginProperty<T: Encodable>(
    _ name: String, _ key: some CodingKey, of location: Location, _ value: T
  ) throws(DatabaseError) -> Step {
    guard isTop(location) else { throw EncodingPage.misuseError }
    let container = open[Int(location.level)]
    if container.hasMetadata, T.self == DocumentID.self || T.self == DocumentRevision.self {
      return .metadata
    }
    let before = Before(savepoint: encoder.savepoint, pathDepth: path.count)
    do throws(DatabaseError) {
      try addKey(name, of: location)
      if try write(value) { return .nothing }
    } catch {
      encoder.restore(before.savepoint)
      throw error
    }
    path.append(key)
    return .encode(nextSlot(callDepth: container.callDepth + 1), before)
  }

  /// Adds an element that `body` writes.
  @inline(__always)
  mutating func addElement(
    to location: Location, _ body: (inout ValueEncoder) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    guard isTop(location) else { throw EncodingPage.misuseError }
    let savepoint = encoder.savepoint
    do throws(DatabaseError) {
      try requireRoom()
      try body(&encoder)
    } catch {
      encoder.restore(savepoint)
      throw error
    }
    open[Int(location.level)].count += 1
  }

  /// Begins an element of any type.
  mutating func beginElement<T: Encodable>(
    of location: Location, _ value: T
  ) throws(DatabaseError) -> Step {
    guard isTop(location) else { throw EncodingPage.misuseError }
    let container = open[Int(location.level)]
    let before = Before(savepoint: encoder.savepoint, pathDepth: path.count, isElement: true)
    var isWritten = false
    do throws(DatabaseError) {
      try requireRoom()
      isWritten = try write(value)
    } catch {
      encoder.restore(before.savepoint)
      throw error
    }
    open[Int(location.level)].count += 1
    if isWritten { return .nothing }
    path.append(ElementKey(container.count))
    return .encode(nextSlot(callDepth: container.callDepth + 1), before)
  }

  /// Fills a slot with the value that `body` writes.
  @inline(__always)
  mutating func fill(
    _ slot: Slot, _ body: (inout ValueEncoder) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    guard isEmpty(slot) else { throw EncodingPage.misuseError }
    let savepoint = encoder.savepoint
    do throws(DatabaseError) {
      try body(&encoder)
    } catch {
      encoder.restore(savepoint)
      throw error
    }
  }

  /// Begins a value of any type in a slot.
  mutating func beginFilling<T: Encodable>(
    _ slot: Slot, with value: T
  ) throws(DatabaseError) -> Step {
    guard isEmpty(slot) else { throw EncodingPage.misuseError }
    let before = Before(savepoint: encoder.savepoint, pathDepth: path.count)
    do throws(DatabaseError) {
      if try write(value) { return .nothing }
    } catch {
      encoder.restore(before.savepoint)
      throw error
    }
    var next = nextSlot(callDepth: slot.callDepth + 1)
    next.hasMetadata = slot.hasMetadata
    return .encode(next, before)
  }

  /// Writes a value of a type with its own stored form; returns false for other types.
  ///
  /// Where no container is allowed any more, arrays encode themselves, which refuses them.
  @inline(__always)
  private mutating func write<T: Encodable>(_ value: T) throws(DatabaseError) -> Bool {
    if isDeepest, DirectType(T.self)?.isArray == true { return false }
    return try EncodingPage.write(value, to: &encoder)
  }

  private mutating func nextSlot(callDepth: UInt16) -> Slot {
    lastTicket &+= 1
    return Slot(
      ticket: lastTicket, start: UInt32(encoder.size),
      level: UInt16(truncatingIfNeeded: open.count),
      pathDepth: UInt16(truncatingIfNeeded: path.count), callDepth: callDepth, hasMetadata: false)
  }

  /// Removes everything that a value in a slot has written.
  mutating func rollback(_ slot: Slot, to before: Before) {
    if !children.isEmpty {
      let kept = open.prefix(Int(slot.level)).map(\.ticket)
      children.removeAll { !kept.contains($0.ticket) }
    }
    open.removeLast(open.count - Int(slot.level))
    path.removeLast(path.count - before.pathDepth)
    encoder.restore(before.savepoint)
    if before.isElement, !open.isEmpty { open[open.count - 1].count -= 1 }
  }
}

// MARK: - Containers

extension EncodingPage {
  /// Opens the container in a slot, or returns the one that is open already.
  mutating func openContainer(in slot: Slot, isObject: Bool) throws(DatabaseError) -> Location {
    let location = slot.location
    if isOpen(location) {
      guard open[Int(location.level)].isObject == isObject else { throw EncodingPage.misuseError }
      return location
    }
    guard isEmpty(slot) else { throw EncodingPage.misuseError }
    guard !isDeepest else { throw DocumentLimits.depthError(path: "") }
    if isObject { encoder.beginObject() } else { encoder.beginArray() }
    open.append(
      OpenContainer(
        ticket: slot.ticket, isObject: isObject, hasMetadata: slot.hasMetadata && isObject,
        pathDepth: slot.pathDepth, callDepth: slot.callDepth))
    return location
  }

  /// Closes the container that was opened in a slot; a value that wrote nothing is an empty object.
  ///
  /// Returns the key that occurs twice in the container, if one does.
  mutating func close(_ slot: Slot, _ before: Before?) throws(DatabaseError) -> DuplicateKey? {
    if open.count == Int(slot.level) {
      if encoder.size == Int(slot.start) {
        encoder.beginObject()
        _ = encoder.endObject()
      }
      leave(before)
      return nil
    }
    guard open.count == Int(slot.level) + 1, let container = open.last else {
      throw EncodingPage.misuseError
    }
    if container.isObject {
      if let duplicate = encoder.endObject() { return duplicate }
    } else {
      encoder.endArray()
    }
    open.removeLast()
    leave(before)
    return nil
  }

  /// Removes the last key of the path after a property or an element.
  private mutating func leave(_ before: Before?) {
    if let before, path.count > before.pathDepth { path.removeLast() }
  }

  /// Whether parts are to be inserted into the container that is open in a slot.
  func hasChildren(in slot: Slot) -> Bool {
    guard !children.isEmpty, open.count > Int(slot.level) else { return false }
    let ticket = open[Int(slot.level)].ticket
    return children.contains { $0.ticket == ticket }
  }

  /// Adds a part: as a property, or as an element if there is no key.
  mutating func add(
    _ part: EncodingPart, _ key: String?, to location: Location, isObject: Bool?
  ) throws(DatabaseError) {
    guard isTop(location) else { throw EncodingPage.misuseError }
    if let key { try requireUnreserved(key, of: location) }
    children.append(
      Child(
        ticket: location.ticket, key: key, position: encoder.size, isObject: isObject, part: part))
    if key == nil {
      encoder.addNull()
      open[Int(location.level)].count += 1
    }
  }

  /// Removes and returns the parts that belong to the container that is open in a slot.
  mutating func removeChildren(in slot: Slot) -> [Child] {
    let ticket = open[Int(slot.level)].ticket
    let own = children.filter { $0.ticket == ticket }
    children.removeAll { $0.ticket == ticket }
    return own
  }

  /// Adds a part as a property.
  mutating func add(_ child: Child, _ bytes: SharedBytes) throws(DatabaseError) {
    try requireRoom(for: bytes.count)
    withUTF8(of: child.key ?? "") { encoder.addKey($0, source: 0) }
    bytes.withSpan { encoder.add(stored: $0) }
  }

  /// Replaces the placeholder nulls in the open array by parts.
  mutating func replaceElements(
    _ parts: [(child: Child, bytes: SharedBytes)]
  ) throws(DatabaseError) {
    let elements = encoder.removeElements()
    // Positions count from the beginning of the page, like the positions of the children.
    let begin = encoder.size
    var next = 0
    var position = 0
    while let end = elements.withSpan({
      ValueFormat.skip($0, at: position, end: elements.count)
    }) {
      var value = elements.suffix(from: position).prefix(end - position)
      if next < parts.count, parts[next].child.position - begin == position {
        value = parts[next].bytes
        next += 1
      }
      try requireRoom(for: value.count)
      value.withSpan { encoder.add(stored: $0) }
      position = end
    }
  }
}

// MARK: - Results and checks

extension EncodingPage {
  /// The stored form of the value.
  var bytes: SharedBytes { encoder.bytes }

  var isTooLarge: Bool { encoder.isTooLarge }

  /// Whether the value is an object.
  var isObject: Bool { encoder.firstByte.map { $0 & 0xF0 == ValueFormat.Tag.object } ?? false }

  /// Returns the number of elements in an array.
  func count(of location: Location) -> Int {
    isOpen(location) ? open[Int(location.level)].count : 0
  }

  /// Whether the metadata properties in a container are the document's.
  func hasMetadata(_ location: Location) -> Bool {
    isOpen(location) && open[Int(location.level)].hasMetadata
  }

  /// Returns the number of `encode(to:)` calls around the values in a container.
  func callDepth(of location: Location) -> UInt16 {
    isOpen(location) ? open[Int(location.level)].callDepth : 0
  }

  /// The keys that lead to a container.
  func path(of location: Location) -> ArraySlice<any CodingKey> {
    isOpen(location) ? path.prefix(Int(open[Int(location.level)].pathDepth)) : []
  }

  /// The keys that lead to a slot.
  func path(of slot: Slot) -> ArraySlice<any CodingKey> { path.prefix(Int(slot.pathDepth)) }

  private func isOpen(_ location: Location) -> Bool {
    location.level < open.count && open[Int(location.level)].ticket == location.ticket
  }

  /// Whether a container is open and is the innermost one.
  @inline(__always)
  private func isTop(_ location: Location) -> Bool {
    Int(location.level) == open.count - 1 && open[Int(location.level)].ticket == location.ticket
  }

  /// Whether the values that are next are at the maximum depth, where no container can begin.
  @inline(__always)
  private var isDeepest: Bool { baseDepth + open.count >= DocumentLimits.depth }

  private func isEmpty(_ slot: Slot) -> Bool {
    !isFinished && open.count == Int(slot.level) && encoder.size == Int(slot.start)
  }

  @inline(__always)
  private func requireRoom(for size: Int = 0) throws(DatabaseError) {
    guard encoder.size + size <= DocumentLimits.sizeInBytes else { throw DocumentLimits.sizeError }
  }

  @inline(__always)
  private mutating func addKey(_ name: String, of location: Location) throws(DatabaseError) {
    try requireRoom(for: name.utf8.count)
    try requireUnreserved(name, of: location)
    withUTF8(of: name) { encoder.addKey($0, source: 0) }
  }

  /// Throws if a name is reserved for the document's own metadata.
  @inline(__always)
  private func requireUnreserved(_ name: String, of location: Location) throws(DatabaseError) {
    if location.level == 0, isDocument, name.utf8.first == 0x5F {
      throw PropertyNames.reserved(name)
    }
  }

  static var misuseError: DatabaseError {
    DatabaseError(
      .invalidValue,
      "its `encode(to:)` writes two values where one belongs, or after it has ended")
  }
}
