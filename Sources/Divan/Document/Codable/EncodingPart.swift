import DivanLog

/// The state that all parts of one encoding share.
final class EncodingSession {
  let userInfo: [CodingUserInfoKey: any Sendable]
  /// The metadata properties that were encoded.
  var id: (key: String, property: DocumentID)?
  var revision: (key: String, property: DocumentRevision)?
  /// The types of the keys that named the document's properties.
  var keyTypes: [any CodingKey.Type] = []
  /// The first error of a call that cannot throw.
  var failure: (any Error)?

  /// The maximum number of nested calls of `encode(to:)`: three for each level of nesting, since
  /// wrappers need not add one.
  static let callLimit = UInt16(3 * DocumentLimits.depth)

  init(userInfo: [CodingUserInfoKey: any Sendable]) { self.userInfo = userInfo }
}

/// One value being encoded: a document, or one from `nestedContainer` or `superEncoder`.
///
/// The stored form is written from start to end, provided that each value is complete before the
/// next one begins. `encode` ensures that by itself. Containers that the caller keeps may be filled
/// in any order, so each is a part of its own, which is inserted when the container around it is
/// closed.
final class EncodingPart {
  typealias Location = EncodingPage.Location
  typealias Slot = EncodingPage.Slot

  let session: EncodingSession
  private let basePath: [any CodingKey]
  /// The number of containers around this part.
  private let baseDepth: Int
  /// The number of `encode(to:)` calls around this part.
  private let baseCallDepth: UInt16
  private let isDocument: Bool
  private var page: EncodingPage

  /// Creates a part for a document.
  init(_ session: EncodingSession) {
    self.session = session
    basePath = []
    baseDepth = 0
    baseCallDepth = 0
    isDocument = true
    page = EncodingPage(isDocument: true, depth: 0)
  }

  /// Creates a part for a value that the caller inserts into a document.
  convenience init(propertyOf session: EncodingSession) {
    self.init(session, path: [], depth: 1, callDepth: 0)
  }

  private init(
    _ session: EncodingSession, path: [any CodingKey], depth: Int, callDepth: UInt16
  ) {
    self.session = session
    basePath = path
    baseDepth = depth
    baseCallDepth = callDepth
    isDocument = false
    page = EncodingPage(isDocument: false, depth: depth)
  }
}

// MARK: - Values

extension EncodingPart {
  /// Encodes a value as the whole part.
  func encodeOutermost(_ value: some Encodable) throws {
    try fill(page.outermostSlot(hasMetadata: isDocument, callDepth: 0), with: value)
  }

  /// Adds a property that `body` writes.
  @inline(__always)
  func addProperty(
    _ key: some CodingKey, of location: Location,
    _ body: (inout ValueEncoder) throws(DatabaseError) -> Void
  ) throws {
    let name = key.stringValue
    do throws(DatabaseError) {
      try page.addProperty(name, of: location, body)
    } catch {
      throw refusal(error, codingPath(of: location) + [key])
    }
  }

  /// Adds a property of any type.
  func addProperty<T: Encodable>(_ key: some CodingKey, of location: Location, _ value: T) throws {
    let name = key.stringValue
    let step: EncodingPage.Step
    do throws(DatabaseError) {
      step = try page.beginProperty(name, key, of: location, value)
    } catch {
      throw refusal(error, codingPath(of: location) + [key])
    }
    switch step {
    case .nothing: break
    case .metadata:
      if let property = same(value, as: DocumentID.self) { session.id = (name, property) }
      if let property = same(value, as: DocumentRevision.self) {
        session.revision = (name, property)
      }
    case .encode(let slot, let before): try encode(value, into: slot, before)
    }
  }

  /// Adds an element that `body` writes.
  @inline(__always)
  func addElement(
    to location: Location, _ body: (inout ValueEncoder) throws(DatabaseError) -> Void
  ) throws {
    do throws(DatabaseError) {
      try page.addElement(to: location, body)
    } catch {
      throw refusal(error, codingPath(of: location) + [ElementKey(count(of: location))])
    }
  }

  /// Adds an element of any type.
  func addElement<T: Encodable>(to location: Location, _ value: T) throws {
    let step: EncodingPage.Step
    do throws(DatabaseError) {
      step = try page.beginElement(of: location, value)
    } catch {
      throw refusal(error, codingPath(of: location) + [ElementKey(count(of: location))])
    }
    if case .encode(let slot, let before) = step { try encode(value, into: slot, before) }
  }

  /// Returns the number of elements in an array.
  func count(of location: Location) -> Int { page.count(of: location) }

  /// Fills a slot with the value that `body` writes.
  @inline(__always)
  func fill(
    _ slot: Slot, _ body: (inout ValueEncoder) throws(DatabaseError) -> Void
  ) throws {
    do throws(DatabaseError) {
      try page.fill(slot, body)
    } catch {
      throw refusal(error, codingPath(of: slot))
    }
  }

  /// Fills a slot with a value of any type.
  func fill<T: Encodable>(_ slot: Slot, with value: T) throws {
    let step: EncodingPage.Step
    do throws(DatabaseError) {
      step = try page.beginFilling(slot, with: value)
    } catch {
      throw refusal(error, codingPath(of: slot))
    }
    if case .encode(let slot, let before) = step { try encode(value, into: slot, before) }
  }

  /// Calls a value's `encode(to:)` and closes its container; on failure, removes all it wrote.
  private func encode<T: Encodable>(
    _ value: T, into slot: Slot, _ before: EncodingPage.Before
  ) throws {
    do {
      guard slot.callDepth <= EncodingSession.callLimit else {
        throw refusal(
          DatabaseError(
            .documentTooLarge,
            "values encode each other more than \(EncodingSession.callLimit) deep"),
          codingPath(of: slot))
      }
      let encoder = SlotEncoder(part: self, slot: slot)
      if let ordered = inStableOrder(value, session) {
        try ordered.encode(to: encoder)
      } else {
        try value.encode(to: encoder)
      }
      try close(slot, before)
    } catch {
      page.rollback(slot, to: before)
      throw error
    }
  }
}

// MARK: - Containers

extension EncodingPart {
  /// Returns the container in a slot: a new one, or the one that is open already.
  func container(in slot: Slot, isObject: Bool, keys: (any CodingKey.Type)? = nil) -> Location {
    if isDocument, slot.level == 0, let keys { session.keyTypes.append(keys) }
    do throws(DatabaseError) {
      return try page.openContainer(in: slot, isObject: isObject)
    } catch {
      note(refusal(error, codingPath(of: slot)))
      return .noContainer
    }
  }

  private func close(_ slot: Slot, _ before: EncodingPage.Before?) throws {
    if page.hasChildren(in: slot) { try insertChildren(in: slot) }
    let duplicate: DuplicateKey?
    do throws(DatabaseError) {
      duplicate = try page.close(slot, before)
    } catch {
      throw refusal(error, codingPath(of: slot))
    }
    if let duplicate {
      throw refusal(
        DatabaseError(.invalidValue, "its `encode(to:)` encodes the property twice"),
        codingPath(of: slot) + [PropertyKey(duplicate.key)])
    }
  }

  /// Inserts the parts that were made for the container in a slot.
  private func insertChildren(in slot: Slot) throws {
    var parts: [(child: EncodingPage.Child, bytes: SharedBytes)] = []
    for child in page.removeChildren(in: slot) { parts.append((child, try child.part.finish())) }
    guard let first = parts.first else { return }
    if first.child.key == nil {
      try attempt(first.child) { (page) throws(DatabaseError) in try page.replaceElements(parts) }
    }
    for (child, bytes) in parts where child.key != nil {
      try attempt(child) { (page) throws(DatabaseError) in try page.add(child, bytes) }
    }
  }

  private func attempt(
    _ child: EncodingPage.Child, _ body: (inout EncodingPage) throws(DatabaseError) -> Void
  ) throws {
    do throws(DatabaseError) {
      try body(&page)
    } catch {
      throw refusal(error, child.part.basePath)
    }
  }

  /// Returns the container that is the value of a property.
  func nestedContainer(
    _ key: some CodingKey, in location: Location, isObject: Bool
  ) -> (EncodingPart, Location) {
    let name = key.stringValue
    let known = page.children.first {
      $0.ticket == location.ticket && $0.isObject == isObject
        && $0.key.map { haveSameUTF8($0, name) } ?? false
    }
    // Types that share a coding key fill the same container, which is the first of its page.
    if let known { return (known.part, Location(ticket: 1, level: 0)) }
    return part(for: key, name, in: location, isObject: isObject).container(isObject: isObject)
  }

  /// Returns the container that is the next element.
  func nestedContainer(inArray location: Location, isObject: Bool) -> (EncodingPart, Location) {
    part(for: ElementKey(count(of: location)), nil, in: location, isObject: isObject)
      .container(isObject: isObject)
  }

  /// Returns the part and its outermost container.
  private func container(isObject: Bool) -> (EncodingPart, Location) {
    let slot = page.outermostSlot(hasMetadata: false, callDepth: baseCallDepth)
    return (self, container(in: slot, isObject: isObject))
  }

  /// Returns an encoder for the value of a property.
  func nestedEncoder(_ key: some CodingKey, in location: Location) -> any Encoder {
    let hasMetadata = page.hasMetadata(location)
    return part(for: key, key.stringValue, in: location, isObject: nil).encoder(hasMetadata)
  }

  /// Returns an encoder for the next element.
  func nestedEncoder(inArray location: Location) -> any Encoder {
    part(for: ElementKey(count(of: location)), nil, in: location, isObject: nil).encoder(false)
  }

  private func encoder(_ hasMetadata: Bool) -> any Encoder {
    SlotEncoder(
      part: self, slot: page.outermostSlot(hasMetadata: hasMetadata, callDepth: baseCallDepth))
  }

  private func part(
    for key: some CodingKey, _ name: String?, in location: Location, isObject: Bool?
  ) -> EncodingPart {
    // A part without a container needs no path, however deeply such parts are nested.
    let isWithoutContainer = location.level == Location.noContainer.level
    let part = EncodingPart(
      session, path: isWithoutContainer ? basePath : codingPath(of: location) + [key],
      depth: baseDepth + (isWithoutContainer ? 0 : Int(location.level) + 1),
      callDepth: page.callDepth(of: location))
    do throws(DatabaseError) {
      guard part.baseDepth < DocumentLimits.depth else {
        throw DocumentLimits.depthError(path: "")
      }
      try page.add(part, name, to: location, isObject: isObject)
    } catch {
      // Only the caller that requested the part keeps it.
      note(refusal(error, part.basePath))
      part.page.isFinished = true
    }
    return part
  }

  /// Ends the part, and returns its stored form.
  func finish() throws -> SharedBytes {
    try close(
      Slot(ticket: 0, start: 0, level: 0, pathDepth: 0, callDepth: 0, hasMetadata: false), nil)
    page.isFinished = true
    guard !page.isTooLarge else { throw refusal(DocumentLimits.sizeError, basePath) }
    return page.bytes
  }

  /// Whether the value that was encoded is an object.
  var isObject: Bool { page.isObject }
}

// MARK: - Errors

extension EncodingPart {
  func codingPath(of slot: Slot) -> [any CodingKey] { basePath + page.path(of: slot) }

  func codingPath(of location: Location) -> [any CodingKey] { basePath + page.path(of: location) }

  private func refusal(_ error: DatabaseError, _ path: [any CodingKey]) -> EncodingError {
    EncodingError.invalidValue(
      (),
      EncodingError.Context(
        codingPath: path, debugDescription: error.message, underlyingError: error))
  }

  private func note(_ error: any Error) { if session.failure == nil { session.failure = error } }
}
