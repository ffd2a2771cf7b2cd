package import DivanLog

/// One revision of a document: an ID and properties.
///
/// A document is a value that you can keep, change and send. One that was read shares the bytes of
/// the store, and decodes a property when you read it; changing it does not affect the store until
/// you put it back.
///
/// ```swift
/// var film = Document(id: "film:1", ["title": "Metropolis", "year": 1927])
/// film["year"]            // 1927
/// film["genres"] = ["drama", "science fiction"]
/// ```
public struct Document: Sendable, Identifiable {
  /// The document's attachments, by name.
  ///
  /// Assign to add, replace or remove one; it is stored with the document. A name has 1 to 1,024
  /// bytes and does not begin with an underscore. The content is not read until you request it.
  public var attachments: Attachments
  private var source: Source

  private enum Source {
    /// The bytes of the record that was read, which are validated.
    case read(SharedBytes, DocumentLayout)
    case made(MadeDocument)
  }
}

/// A document that was created, or changed since it was read.
private struct MadeDocument {
  var id: String
  /// The revision that it is, or was changed from; nil if it is not stored yet.
  var stamp: Stamp?
  var content: Content

  enum Content {
    case encoded(EncodedValue)
    case edited(Value.Object)
  }

  /// A separate object, so that copying a document copies few fields.
  final class Stamp: Sendable {
    let revision: RevisionID
    let parent: RevisionID?
    let sequence: UInt64
    let isDeleted: Bool

    init(
      _ revision: RevisionID, parent: RevisionID? = nil, sequence: UInt64 = 0,
      isDeleted: Bool = false
    ) {
      self.revision = revision
      self.parent = parent
      self.sequence = sequence
      self.isDeleted = isDeleted
    }
  }
}

extension Document {
  /// Creates a document that is not stored yet.
  ///
  /// - Parameters:
  ///   - id: The document's ID; if nil, a new one is chosen when the document is stored.
  ///   - properties: The document's properties.
  public init(id: String? = nil, _ properties: Value.Object = [:]) {
    attachments = [:]
    source = .made(MadeDocument(id: id ?? "", content: .edited(properties)))
  }

  /// Creates a document from the validated bytes of a record and the layout of its parts.
  @inline(__always)
  init(
    _ record: consuming SharedBytes, _ layout: DocumentLayout,
    attachments: Attachments
  ) {
    self.attachments = attachments
    source = .read(record, layout)
  }

  /// Creates a document from parts that were read.
  ///
  /// `body` is the stored form of the properties, which was validated when it was written.
  init(
    id: String, revision: RevisionID, parent: RevisionID?, sequence: UInt64, isDeleted: Bool,
    body: SharedBytes, attachments: Attachments = [:]
  ) {
    self.attachments = attachments
    source = .made(
      MadeDocument(
        id: id,
        stamp: .init(revision, parent: parent, sequence: sequence, isDeleted: isDeleted),
        content: .encoded(EncodedValue(body))))
  }

  /// Creates a document with validated properties in their binary form, changed from a revision.
  package init(
    id: String, revision: RevisionID?, _ properties: EncodedValue,
    attachments: Attachments = [:]
  ) {
    self.attachments = attachments
    source = .made(
      MadeDocument(id: id, stamp: revision.map { .init($0) }, content: .encoded(properties)))
  }

  /// Returns the same content as another revision, which was just stored.
  func stored(
    id: String, revision: RevisionID, parent: RevisionID?, sequence: UInt64, isDeleted: Bool
  ) -> Document {
    var copy = self
    copy.source = .made(
      MadeDocument(
        id: id,
        stamp: .init(revision, parent: parent, sequence: sequence, isDeleted: isDeleted),
        content: made.content))
    return copy
  }

  /// Returns a copy in parts with memory of its own.
  ///
  /// The copy can be kept without retaining files, a version of the store, or the other parts of a
  /// record.
  func withOwnBytes() -> Document {
    var copy = self
    var made = made
    if case .encoded(let properties) = made.content {
      made.content = .encoded(
        EncodedValue(properties.bytes.withSpan { SharedBytes(copying: $0) }))
    }
    copy.source = .made(made)
    return copy
  }

  /// The document in parts that can be changed.
  private var made: MadeDocument {
    switch source {
    case .made(let made): made
    case .read(let bytes, let layout):
      MadeDocument(
        id: id,
        stamp: .init(
          layout.revision(in: bytes), parent: layout.parent(in: bytes), sequence: layout.sequence,
          isDeleted: layout.isDeleted),
        content: .encoded(EncodedValue(layout.properties(in: bytes))))
    }
  }
}

extension Document {
  /// The document's ID; empty for a document that gets one when it is stored.
  ///
  /// For a document as it was read, a new `String` is created each time.
  public var id: String {
    switch source {
    case .made(let made): made.id
    case .read(let bytes, let layout):
      bytes.withSpan { String(validUTF8: $0.extracting(layout.idRange)) }
    }
  }

  /// The revision that this is, or that it was changed from; nil if it is not stored yet.
  public var revision: RevisionID? {
    switch source {
    case .made(let made): made.stamp?.revision
    case .read(let bytes, let layout): layout.revision(in: bytes)
    }
  }

  /// The parent of that revision; nil if there is none, or if it is no longer known.
  public var parentRevision: RevisionID? {
    switch source {
    case .made(let made): made.stamp?.parent
    case .read(let bytes, let layout): layout.parent(in: bytes)
    }
  }

  /// The sequence number at which the revision was stored; 0 if it is not stored.
  public var sequence: UInt64 {
    switch source {
    case .made(let made): made.stamp?.sequence ?? 0
    case .read(_, let layout): layout.sequence
    }
  }

  /// A Boolean value that indicates whether the document is deleted in this revision.
  ///
  /// It may still have properties.
  public var isDeleted: Bool {
    switch source {
    case .made(let made): made.stamp?.isDeleted ?? false
    case .read(_, let layout): layout.isDeleted
    }
  }

  /// The stored form of the properties; nil once they were edited.
  package var storedProperties: SharedBytes? {
    switch source {
    case .read(let bytes, let layout): return layout.properties(in: bytes)
    case .made(let made):
      if case .encoded(let properties) = made.content { return properties.bytes }
      return nil
    }
  }

  /// The edited properties; nil if they are unchanged.
  private var editedProperties: Value.Object? {
    if case .made(let made) = source, case .edited(let object) = made.content {
      object
    } else {
      nil
    }
  }

  /// Returns the properties in their binary form, after checking that they can be stored.
  package func encoded() throws(DatabaseError) -> EncodedValue {
    if let storedProperties { return EncodedValue(storedProperties) }
    let object = properties
    try PropertyNames.validate(object)
    return EncodedValue(try ValueEncoder.encode(.object(object)))
  }

  /// Appends the properties in their binary form, after checking that they can be stored.
  func encodeProperties(
    with encoder: inout ValueEncoder, to writer: inout ByteWriter
  ) throws(DatabaseError) {
    if let storedProperties { return writer.append(storedProperties) }
    let object = properties
    try PropertyNames.validate(object)
    try encoder.encode(.object(object), into: &writer)
  }

  /// Replaces the document's properties by validated ones in their binary form.
  mutating func replaceProperties(with properties: EncodedValue) {
    replaceContent(with: .encoded(properties))
  }

  private mutating func replaceContent(with content: MadeDocument.Content) {
    var made = made
    made.content = content
    source = .made(made)
  }

  /// All properties.
  ///
  /// Reading this decodes all of them, in time linear in their size; to read a single one, the
  /// subscript is faster.
  public var properties: Value.Object {
    get {
      if let editedProperties { return editedProperties }
      // The bytes matched their checksum, and were validated when they were written.
      guard let storedProperties,
        case .object(let object)? = try? EncodedValue(storedProperties).decode()
      else { return [:] }
      return object
    }
    set { replaceContent(with: .edited(newValue)) }
  }

  /// The property with this name; nil if there is none.
  ///
  /// Assigning nil removes it.
  ///
  /// For a document as it came from the store, only this property is decoded.
  public subscript(name: String) -> Value? {
    get {
      if let storedProperties { return try? EncodedValue(storedProperties).value(name) }
      return editedProperties?[name]
    }
    set {
      var object = properties
      if case .made(var made) = source, case .edited = made.content {
        // With a single reference to the properties, setting one copies none of the others.
        made.content = .edited([:])
        source = .made(made)
      }
      object[name] = newValue
      replaceContent(with: .edited(object))
    }
  }

  /// The properties as compact JSON text.
  public var json: String { Value.object(properties).json }
}

extension Document: Hashable {
  /// Returns whether both have the same ID and revision, and equal properties and attachments.
  public static func == (a: Document, b: Document) -> Bool {
    haveSameUTF8(a.id, b.id) && a.revision == b.revision && a.isDeleted == b.isDeleted
      && a.properties == b.properties && a.attachments == b.attachments
  }

  /// Feeds the ID and the revision into the hasher, and not the contents, which may be large.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(revision)
  }
}

extension Document: CustomStringConvertible {
  /// The ID, the revision and the properties as JSON.
  public var description: String {
    "\(id.isEmpty ? "(new)" : id) \(revision.map(String.init) ?? "(unsaved)")"
      + "\(isDeleted ? " deleted" : "") \(json)"
  }
}
