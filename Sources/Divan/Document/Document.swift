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
  /// The document's ID; empty for a document that gets one when it is stored.
  public let id: String
  /// The revision that this is, or that it was changed from; nil if it was not stored yet.
  public internal(set) var revision: RevisionID?
  /// The revision before that one; nil if there is none, or if it is not known any more.
  public var parentRevision: RevisionID? {
    guard let revision, let parentDigest else { return nil }
    return RevisionID(generation: revision.generation - 1, digest: parentDigest)
  }
  /// What follows the generation in ``parentRevision``, which is one below the revision's.
  private var parentDigest: RevisionID.Digest?
  /// When the revision was stored, in the store's own order; 0 if it was not.
  public internal(set) var sequence: UInt64 = 0
  /// Whether this revision says that the document is deleted.
  ///
  /// It may still have properties.
  public internal(set) var isDeleted = false
  /// What is attached to the document, by name.
  ///
  /// Assign to add, replace or take out; it is stored with the document. A name has 1 to 1,024 bytes and
  /// does not begin with an underscore. Read content costs nothing until it is asked for.
  public var attachments: [String: Attachment]
  private var content: Content

  private enum Content {
    case stored(EncodedValue)
    case edited(Value.Object)
  }
}

extension Document {
  /// Makes a document that is not stored yet.
  ///
  /// - Parameters:
  ///   - id: the document's ID; a new one is chosen when it is stored if this is nil.
  ///   - properties: what the document holds.
  public init(id: String? = nil, _ properties: Value.Object = [:]) {
    self.id = id ?? ""
    attachments = [:]
    content = .edited(properties)
  }

  /// A document as it was read; `body` was checked when it was written.
  @inline(__always)
  init(
    id: String, revision: RevisionID, parent: RevisionID?, sequence: UInt64, isDeleted: Bool,
    body: SharedBytes, attachments: [String: Attachment] = [:]
  ) {
    self.id = id
    self.revision = revision
    self.attachments = attachments
    parentDigest = parent?.digest
    self.sequence = sequence
    self.isDeleted = isDeleted
    content = .stored(EncodedValue(body))
  }

  /// A document of properties in their binary form, which were checked, changed from a revision.
  package init(
    id: String, revision: RevisionID?, _ properties: EncodedValue,
    attachments: [String: Attachment] = [:]
  ) {
    self.id = id
    self.revision = revision
    self.attachments = attachments
    content = .stored(properties)
  }

  /// The properties in their binary form, checked against what can be stored.
  package func encoded() throws(DatabaseError) -> EncodedValue {
    switch content {
    case .stored(let bytes): return bytes
    case .edited(let object):
      try PropertyNames.validate(object)
      return EncodedValue(try ValueCoding.encode(.object(object)))
    }
  }

  /// Makes properties in their binary form, which were checked, the document's own.
  mutating func replaceProperties(with properties: EncodedValue) { content = .stored(properties) }

  /// The same content as another revision, which was just stored.
  func stored(
    id: String, revision: RevisionID, parent: RevisionID?, sequence: UInt64, isDeleted: Bool
  ) -> Document {
    var copy = Document(id: id)
    copy.revision = revision
    copy.parentDigest = parent?.digest
    copy.sequence = sequence
    copy.isDeleted = isDeleted
    copy.attachments = attachments
    copy.content = content
    return copy
  }

  /// All properties.
  ///
  /// Reading it decodes them all, in time linear in their size; a single one is found faster through
  /// the subscript.
  public var properties: Value.Object {
    get {
      switch content {
      case .edited(let object): return object
      case .stored(let bytes):
        // The bytes passed their checksum and were checked when they were written.
        guard case .object(let object)? = try? bytes.decode() else { return [:] }
        return object
      }
    }
    set { content = .edited(newValue) }
  }

  /// The property of this name; nil if there is none.
  ///
  /// Assigning nil removes it.
  ///
  /// Reading a document as it came from the store decodes this property only.
  public subscript(name: String) -> Value? {
    get {
      switch content {
      case .edited(let object): object[name]
      case .stored(let bytes): try? bytes.value(name)
      }
    }
    set {
      var object = properties
      object[name] = newValue
      content = .edited(object)
    }
  }

  /// The properties as compact JSON text.
  public var json: String { Value.object(properties).json }

  /// The bytes of the properties as they are stored; nil once they were edited.
  package var storedProperties: SharedBytes? {
    if case .stored(let value) = content { value.bytes } else { nil }
  }

  /// The properties in their binary form, appended and checked against what can be stored.
  func encodeProperties(
    with coding: inout ValueCoding, to writer: inout ByteWriter
  ) throws(DatabaseError) {
    switch content {
    case .stored(let bytes): writer.append(bytes.bytes)
    case .edited(let object):
      try PropertyNames.validate(object)
      try coding.encode(.object(object), into: &writer)
    }
  }
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
