import DivanLog

/// Identifies a model by its class and document ID.
///
/// Unlike a model, an ID can be sent to other tasks and actors.
///
/// ```swift
/// let id = film.modelID
/// Task { @MainActor in
///   let film = try viewContext.model(id)
/// }
/// ```
public struct ModelID<M: Model>: Hashable, Sendable, Identifiable {
  /// The ID of the model's document.
  public let documentID: String

  /// The ID of the model's document.
  public var id: String { documentID }

  /// Creates the ID of a document's model.
  public init(_ documentID: String) { self.documentID = documentID }

  /// Returns whether both identify the same document: their IDs have the same bytes.
  public static func == (a: Self, b: Self) -> Bool { haveSameUTF8(a.documentID, b.documentID) }

  /// Feeds the document's ID into the hasher.
  public func hash(into hasher: inout Hasher) { DocumentKey(documentID).hash(into: &hasher) }
}

extension ModelID: CustomStringConvertible {
  /// The class and the document's ID.
  public var description: String { "\(M.self) \(documentID)" }
}

extension ModelID: Codable {
  /// Decodes a document ID.
  public init(from decoder: any Decoder) throws {
    documentID = try decoder.singleValueContainer().decode(String.self)
  }

  /// Encodes the document ID.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(documentID)
  }
}

extension PersistableOptional where Self: Model {
  /// The ID of this model, typed as its static class.
  public var modelID: ModelID<Self> { ModelID(id) }

  /// Returns a copy of the model that is in no context, including its unsaved changes.
  ///
  /// You can send it to another task or actor. There you can read it, except for its references and
  /// for unchanged attachments. You can also insert it into a context that has no model of its
  /// document, and save it: its changes are then merged into the document as it is at that time.
  /// This model keeps its changes as well. If a model refers to the copy, the copy enters that
  /// model's context. If the context has a model of the document, the reference is to that one.
  ///
  /// - Throws: ``DatabaseError/Code/invalidValue`` if a property has a value that cannot be stored.
  public func detachedCopy() throws -> sending Self {
    let copy = type(of: self).init()
    copy.documentID = id
    guard state != .new, let storedProperties else {
      copy.attach(try ModelCoder.properties(of: self), state: .new)
      copy.give(attachments)
      return copy
    }
    copy.attach(storedProperties, state: .stored)
    for property in modelClass.properties where property.isDirty(in: self) {
      let value = try ModelCoder.value(of: property, in: self)
      try copy.setValue(value, for: property.key)
    }
    copy.pendingChanges = pendingChanges
    copy.isChanged = isChanged
    copy.upgradedFrom = upgradedFrom
    return copy
  }
}
