import DivanLog
import Synchronization

/// The content of a metadata property, in a box that copies share until one of them is set.
///
/// Objects that are stored get their ID and revision in place. An object's property is reachable
/// only through the value that the object passes to its encoder, so the assigned value is in a
/// shared box. Setting `wrappedValue` makes a new box, so other copies keep their value. Structures
/// are never assigned in place.
struct MetadataProperty<Content: Sendable & Hashable>: Sendable {
  private let box: Box

  private final class Box: Sendable {
    let content: Guarded<Content?>
    init(_ content: Content?) { self.content = Guarded(content) }
  }

  init(_ value: Content?) { box = Box(value) }

  var value: Content? { box.content.withLock { $0 } }

  /// Sets the value in the object that has this property, and in every copy that shares the box.
  func assign(_ value: Content?) { box.content.withLock { $0 = value } }
}

/// Marks the property of a `Codable` type that is the document's revision.
///
/// ```swift
/// struct Film: Codable {
///   @DocumentID var id: String? = nil
///   @DocumentRevision var revision: RevisionID?
///   var title: String
/// }
/// ```
///
/// A value that has a revision is stored only if the document has not changed since it was read.
/// The property is not stored among the others. In other formats, and deeper inside a document, it
/// is a text.
@propertyWrapper
public struct DocumentRevision: Sendable {
  private var property: MetadataProperty<RevisionID>

  /// The revision at which the value was read or stored; nil if it was neither.
  public var wrappedValue: RevisionID? {
    get { property.value }
    set { property = MetadataProperty(newValue) }
  }

  /// Creates the revision of a value; pass the revision if the value was read.
  public init(wrappedValue: RevisionID? = nil) { property = MetadataProperty(wrappedValue) }

  /// Sets the revision of the object that has this property, or removes it again.
  func assign(_ revision: RevisionID?) { property.assign(revision) }
}

extension DocumentID: Hashable {
  /// Whether both are the same ID, by its bytes.
  public static func == (a: DocumentID, b: DocumentID) -> Bool {
    guard let one = a.wrappedValue, let other = b.wrappedValue else {
      return a.wrappedValue == nil && b.wrappedValue == nil
    }
    return haveSameUTF8(one, other)
  }

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
  /// Reads a metadata property, which other formats may leave out.
  public func decode(_ type: DocumentID.Type, forKey key: Key) throws -> DocumentID {
    try decodeIfPresent(type, forKey: key) ?? DocumentID()
  }

  /// Reads a metadata property, which other formats may leave out.
  public func decode(_ type: DocumentRevision.Type, forKey key: Key) throws -> DocumentRevision {
    try decodeIfPresent(type, forKey: key) ?? DocumentRevision()
  }
}
