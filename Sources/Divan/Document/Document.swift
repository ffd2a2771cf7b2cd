package import DivanLog

/// A document: an ID, and properties, as one revision of it has them.
///
/// A value that can be kept, changed and sent anywhere. One that was read shares the bytes of the
/// store, and decodes a property when it is asked for; changing it changes nothing in the store until
/// it is put back.
///
/// ```swift
/// var film = Document(id: "film:1", ["title": "Metropolis", "year": 1927])
/// film["year"]            // 1927
/// film["genres"] = ["drama", "science fiction"]
/// ```
public struct Document: Sendable, Identifiable {
  /// What is attached to the document, by name.
  ///
  /// Assign to add, replace or take out; it is stored with the document. A name has 1 to 1,024 bytes and
  /// does not begin with an underscore. Read content costs nothing until it is asked for.
  public var attachments: Attachments
  private var source: Source

  private enum Source {
    /// The bytes of the record that was read, which were checked.
    case read(SharedBytes, DocumentLayout)
    case made(MadeDocument)
  }
}

/// A document that was made, or changed since it was read.
private struct MadeDocument {
  var id: String
  /// Of which revision it is, or was changed from; nil if it was not stored yet.
  var stamp: Stamp?
  var content: Content

  enum Content {
    case encoded(EncodedValue)
    case edited(Value.Object)
  }

  /// Apart, so that a document has few parts to be copied.
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
  /// Makes a document that is not stored yet.
  ///
  /// - Parameters:
  ///   - id: the document's ID; a new one is chosen when it is stored if this is nil.
  ///   - properties: what the document holds.
  public init(id: String? = nil, _ properties: Value.Object = [:]) {
    attachments = [:]
    source = .made(MadeDocument(id: id ?? "", content: .edited(properties)))
  }

  /// A document as it was read: the bytes of its record, which were checked, and where its parts are in them.
  @inline(__always)
  init(
    _ record: consuming SharedBytes, _ layout: DocumentLayout,
    attachments: Attachments
  ) {
    self.attachments = attachments
    source = .read(record, layout)
  }

  /// A document of parts that were read; `body` was checked when it was written.
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

  /// A document of properties in their binary form, which were checked, changed from a revision.
  package init(
    id: String, revision: RevisionID?, _ properties: EncodedValue,
    attachments: Attachments = [:]
  ) {
    self.attachments = attachments
    source = .made(
      MadeDocument(id: id, stamp: revision.map { .init($0) }, content: .encoded(properties)))
  }

  /// The same content as another revision, which was just stored.
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

  /// The same in parts, with memory of its own: so that it can be kept without keeping files, a version of the store, or
  /// what a record has besides.
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

  /// The same in parts that can be changed.
  private var made: MadeDocument {
    switch source {
    case .made(let made): made
    case .read(let bytes, let layout):
      MadeDocument(
        id: id,
        stamp: .init(
          layout.revision(in: bytes), parent: layout.parent(in: bytes), sequence: layout.sequence,
          isDeleted: layout.isDeleted),
        content: .encoded(EncodedValue(layout.body(in: bytes))))
    }
  }
}

extension Document {
  /// The document's ID; empty for a document that gets one when it is stored.
  ///
  /// Of a document as it was read, a text is made each time.
  public var id: String {
    switch source {
    case .made(let made): made.id
    case .read(let bytes, let layout):
      bytes.withSpan { String(validUTF8: $0.extracting(layout.idRange)) }
    }
  }

  /// The revision that this is, or that it was changed from; nil if it was not stored yet.
  public var revision: RevisionID? {
    switch source {
    case .made(let made): made.stamp?.revision
    case .read(let bytes, let layout): layout.revision(in: bytes)
    }
  }

  /// The revision before that one; nil if there is none, or if it is not known any more.
  public var parentRevision: RevisionID? {
    switch source {
    case .made(let made): made.stamp?.parent
    case .read(let bytes, let layout): layout.parent(in: bytes)
    }
  }

  /// When the revision was stored, in the store's own order; 0 if it was not.
  public var sequence: UInt64 {
    switch source {
    case .made(let made): made.stamp?.sequence ?? 0
    case .read(_, let layout): layout.sequence
    }
  }

  /// Whether this revision says that the document is deleted.
  ///
  /// It may still have properties.
  public var isDeleted: Bool {
    switch source {
    case .made(let made): made.stamp?.isDeleted ?? false
    case .read(_, let layout): layout.isDeleted
    }
  }

  /// The bytes of the properties as they are stored; nil once they were edited.
  package var storedProperties: SharedBytes? {
    switch source {
    case .read(let bytes, let layout): return layout.body(in: bytes)
    case .made(let made):
      if case .encoded(let properties) = made.content { return properties.bytes }
      return nil
    }
  }

  /// The properties that were edited; nil if they are as they are stored.
  private var editedProperties: Value.Object? {
    if case .made(let made) = source, case .edited(let object) = made.content {
      object
    } else {
      nil
    }
  }

  /// The properties in their binary form, checked against what can be stored.
  package func encoded() throws(DatabaseError) -> EncodedValue {
    if let storedProperties { return EncodedValue(storedProperties) }
    let object = properties
    try PropertyNames.validate(object)
    return EncodedValue(try ValueCoding.encode(.object(object)))
  }

  /// The properties in their binary form, appended and checked against what can be stored.
  func encodeProperties(
    with coding: inout ValueCoding, to writer: inout ByteWriter
  ) throws(DatabaseError) {
    if let storedProperties { return writer.append(storedProperties) }
    let object = properties
    try PropertyNames.validate(object)
    try coding.encode(.object(object), into: &writer)
  }

  /// Makes properties in their binary form, which were checked, the document's own.
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
  /// Reading it decodes them all, in time linear in their size; a single one is found faster through
  /// the subscript.
  public var properties: Value.Object {
    get {
      if let editedProperties { return editedProperties }
      // The bytes passed their checksum and were checked when they were written.
      guard let storedProperties,
        case .object(let object)? = try? EncodedValue(storedProperties).decode()
      else { return [:] }
      return object
    }
    set { replaceContent(with: .edited(newValue)) }
  }

  /// The property of this name; nil if there is none.
  ///
  /// Assigning nil removes it.
  ///
  /// Reading a document as it came from the store decodes this property only.
  public subscript(name: String) -> Value? {
    get {
      if let storedProperties { return try? EncodedValue(storedProperties).value(name) }
      return editedProperties?[name]
    }
    set {
      var object = properties
      if case .made(var made) = source, case .edited = made.content {
        // With one reference to the properties only, setting one copies none of the others.
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

extension Document: Equatable {
  /// Whether both have the same ID, the same revision and equal properties and attachments.
  public static func == (a: Document, b: Document) -> Bool {
    a.id == b.id && a.revision == b.revision && a.isDeleted == b.isDeleted
      && a.properties == b.properties && a.attachments == b.attachments
  }
}

extension Document: CustomStringConvertible {
  /// The ID, the revision and the properties as JSON.
  public var description: String {
    "\(id.isEmpty ? "(new)" : id) \(revision.map(String.init) ?? "(unsaved)")"
      + "\(isDeleted ? " deleted" : "") \(json)"
  }
}
