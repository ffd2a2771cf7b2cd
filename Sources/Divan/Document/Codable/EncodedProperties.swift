import DivanLog

/// A value that was encoded: its properties, and its document's ID and revision.
struct EncodedProperties {
  let properties: EncodedValue
  private let session: EncodingSession

  init(properties: EncodedValue, _ session: EncodingSession) {
    self.properties = properties
    self.session = session
  }

  /// The ID of the metadata property; nil if there is none yet.
  var id: String? { session.id?.property.wrappedValue }

  /// The revision of the metadata property; nil if there is none yet.
  var revision: RevisionID? { session.revision?.property.wrappedValue }

  /// Whether the type has metadata properties to set.
  var hasMetadata: Bool { session.id != nil || session.revision != nil }

  /// Whether the type has a metadata property for the revision.
  var hasRevisionProperty: Bool { session.revision != nil }

  /// Returns the document's ID from the caller or the metadata; nil if neither has one.
  func documentID(_ wanted: String?) throws(DatabaseError) -> String? {
    guard let wanted else { return id }
    if let id, !haveSameUTF8(id, wanted) {
      throw DatabaseError(
        .invalidDocumentID, "the value's own ID differs from the ID to store it under",
        documentID: wanted)
    }
    return wanted
  }

  /// Sets the document's ID and revision in the object that was encoded.
  ///
  /// - Returns: The previous metadata, to restore it.
  func assign(_ document: Document) -> AssignedMetadata {
    let previous = AssignedMetadata(
      id: session.id?.property, revision: session.revision?.property)
    session.id?.property.assign(document.id)
    session.revision?.property.assign(document.revision)
    return previous
  }

  /// Whether the type has a property of this name, whether or not it encoded one.
  ///
  /// The types of coding keys know the names that they represent.
  func isKnown(_ name: String) -> Bool {
    for key in [session.id?.key, session.revision?.key] {
      if let key, haveSameUTF8(key, name) { return false }
    }
    // The keys of an enumeration are made of any text that Swift compares as equal.
    return session.keyTypes.contains { type in
      type.init(stringValue: name).map { haveSameUTF8($0.stringValue, name) } ?? false
    }
  }

  /// Merges the properties into the properties of a document.
  ///
  /// The properties that the type knows are replaced; all others are kept.
  func over(_ current: EncodedValue) throws(DatabaseError) -> EncodedValue {
    guard let old = current.properties, let new = properties.properties else {
      throw EncodedValue.damage(at: nil)
    }
    var kept: [StoredProperty] = []
    var next = 0
    for property in old {
      while next < new.count, compare(new[next].key, property.key) < 0 { next += 1 }
      if next < new.count, new[next].key == property.key { continue }
      guard let name = property.key.text else { throw EncodedValue.damage(at: nil) }
      if !isKnown(name) { kept.append(property) }
    }
    return kept.isEmpty ? properties : try joining(new + kept)
  }

  /// Returns the properties with one more, which the value does not have.
  func adding(_ name: String, _ value: Value) throws(DatabaseError) -> EncodedProperties {
    var encoder = ValueEncoder()
    var writer = ByteWriter()
    let change = PropertyChange(
      key: SharedBytes(utf8: name), value: try encoder.nestedForm(of: value))
    try encoder.encode(properties, replacing: [change], into: &writer)
    return EncodedProperties(properties: EncodedValue(writer.sharedCopy), session)
  }

  /// Returns an object of properties, which may come in any order.
  private func joining(_ properties: [StoredProperty]) throws(DatabaseError) -> EncodedValue {
    var encoder = ValueEncoder()
    encoder.begin(isNested: false)
    encoder.beginObject()
    for property in properties {
      property.key.withSpan { encoder.addKey($0, source: 0) }
      property.value.withSpan { encoder.add(stored: $0) }
    }
    _ = encoder.endObject()
    guard !encoder.isTooLarge else { throw DocumentLimits.sizeError }
    return EncodedValue(encoder.bytes)
  }
}

/// The metadata of an object before it was stored.
struct AssignedMetadata {
  private let id: (property: DocumentID, before: String?)?
  private let revision: (property: DocumentRevision, before: RevisionID?)?

  fileprivate init(id: DocumentID?, revision: DocumentRevision?) {
    self.id = id.map { ($0, $0.wrappedValue) }
    self.revision = revision.map { ($0, $0.wrappedValue) }
  }

  /// Restores the object's metadata, because its document is not stored after all.
  func restore() {
    if let id { id.property.assign(id.before) }
    if let revision { revision.property.assign(revision.before) }
  }
}

/// A property in its stored form.
struct StoredProperty {
  var key: SharedBytes
  var value: SharedBytes
}

extension EncodedValue {
  /// The properties of an object in the order of their keys; nil if this is not an object.
  var properties: [StoredProperty]? {
    let ranges = bytes.withSpan { bytes -> [(key: Range<Int>, value: Range<Int>)]? in
      guard let object = ValueFormat.container(bytes, at: 0, end: bytes.count), object.isObject
      else { return nil }
      var ranges: [(Range<Int>, Range<Int>)] = []
      var position = object.start
      while position < object.end {
        guard let (size, start) = ValueFormat.varint(bytes, at: position, end: object.end),
          size <= object.end - start,
          let end = ValueFormat.skip(bytes, at: start + size, end: object.end)
        else { return nil }
        ranges.append((start..<start + size, start + size..<end))
        position = end
      }
      return ranges
    }
    return ranges?.compactMap { range in
      guard let key = bytes.slice(range.key.lowerBound, range.key.count),
        let value = bytes.slice(range.value.lowerBound, range.value.count)
      else { return nil }
      return StoredProperty(key: key, value: value)
    }
  }
}
