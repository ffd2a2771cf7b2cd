import DivanLog
import Synchronization

/// What a marked property holds: of two copies, assigning one leaves the other alone.
///
/// Objects that are stored get their ID and revision in place. There is no way to an object's
/// property but through what it gives to its encoder, so what is assigned on storing stands in a box.
/// Structures are never assigned so: copies of them share the box.
struct DocumentMark<Content: Sendable & Hashable>: Sendable {
  private let box: Box

  private final class Box: Sendable {
    let content: Guarded<Content?>
    init(_ content: Content?) { self.content = Guarded(content) }
  }

  init(_ value: Content?) { box = Box(value) }

  var value: Content? { box.content.withLock { $0 } }

  /// Sets the value in the object whose property this is, and in whatever shares the box.
  func assign(_ value: Content?) { box.content.withLock { $0 = value } }
}

/// Marks the property of a `Codable` type that is the document's revision.
///
/// ```swift
/// struct Film: Codable {
///   @DocumentID var id: String?
///   @DocumentRevision var revision: RevisionID?
///   var title: String
/// }
/// ```
///
/// A value that has one is stored only if nobody changed the document since it was read. The property
/// is not stored among the others. In other formats, and deeper inside a document, it is a text.
@propertyWrapper
public struct DocumentRevision: Sendable {
  private var mark: DocumentMark<RevisionID>

  /// The revision as which the value was read or stored; nil if it was neither.
  public var wrappedValue: RevisionID? {
    get { mark.value }
    set { mark = DocumentMark(newValue) }
  }

  /// Makes the mark of a value that was read, or was not.
  public init(wrappedValue: RevisionID? = nil) { mark = DocumentMark(wrappedValue) }

  /// Gives the object that has this property its document's revision, or takes it away again.
  func assign(_ revision: RevisionID?) { mark.assign(revision) }
}

extension DocumentID: Hashable {
  /// Whether both are the same ID.
  public static func == (a: DocumentID, b: DocumentID) -> Bool { a.wrappedValue == b.wrappedValue }

  /// Feeds the ID into the hasher.
  public func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue) }
}

extension DocumentRevision: Hashable {
  /// Whether both are the same revision.
  public static func == (a: DocumentRevision, b: DocumentRevision) -> Bool {
    a.wrappedValue == b.wrappedValue
  }

  /// Feeds the revision into the hasher.
  public func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue) }
}

extension DocumentID: Codable {
  /// Reads a text or null.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    self.init(wrappedValue: container.decodeNil() ? nil : try container.decode(String.self))
  }

  /// Writes a text or null.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue)
  }
}

extension DocumentRevision: Codable {
  /// Reads a text or null.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    self.init(wrappedValue: container.decodeNil() ? nil : try container.decode(RevisionID.self))
  }

  /// Writes a text or null.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue)
  }
}

extension KeyedDecodingContainer {
  /// Reads a marked property, which other formats may leave out.
  public func decode(_ type: DocumentID.Type, forKey key: Key) throws -> DocumentID {
    try decodeIfPresent(type, forKey: key) ?? DocumentID()
  }

  /// Reads a marked property, which other formats may leave out.
  public func decode(_ type: DocumentRevision.Type, forKey key: Key) throws -> DocumentRevision {
    try decodeIfPresent(type, forKey: key) ?? DocumentRevision()
  }
}
