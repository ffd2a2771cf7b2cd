import DivanLog

/// Which model of which class: what crosses to other tasks and actors, where models cannot.
///
/// ```swift
/// let id = film.modelID
/// Task { @MainActor in
///   let film = try viewContext.model(id)
/// }
/// ```
public struct ModelID<M: Model>: Hashable, Sendable {
  /// The ID of the model's document.
  public let documentID: String

  /// Names the model of a document.
  public init(_ documentID: String) { self.documentID = documentID }

  /// Whether both name the same document: the same bytes.
  public static func == (a: Self, b: Self) -> Bool { haveSameUTF8(a.documentID, b.documentID) }

  /// Feeds the document's ID into the hasher.
  public func hash(into hasher: inout Hasher) { DocumentKey(documentID).hash(into: &hasher) }
}

extension ModelID: CustomStringConvertible {
  /// The class and the document's ID.
  public var description: String { "\(M.self) \(documentID)" }
}

extension ModelID: Codable {
  /// Reads a document's ID.
  public init(from decoder: any Decoder) throws {
    documentID = try decoder.singleValueContainer().decode(String.self)
  }

  /// Writes the document's ID.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(documentID)
  }
}

extension PersistableOptional where Self: Model {
  /// Names this model, as what it is known here: its class, or a superclass.
  public var modelID: ModelID<Self> { ModelID(id) }

  /// A model in no context that has what this one has, with what was changed and not saved.
  ///
  /// It can be sent to another task or actor. There it can be read, except for its references and for attachments
  /// that were not changed; or inserted into a context that has no model of its document, and saved: that merges
  /// what was changed into what the document has then. This model keeps its changes as well.
  ///
  /// - Throws: ``DatabaseError/Code/invalidValue`` if a property has a value that cannot be stored.
  public func detachedCopy() throws -> sending Self {
    let copy = type(of: self).init()
    copy.documentID = id
    guard state != .new, let body else {
      copy.attach(try ModelCoder.properties(of: self), state: .new)
      copy.give(attachments)
      return copy
    }
    copy.attach(body, state: .stored)
    for property in modelClass.properties where property.isDirty(in: self) {
      let value = try ModelCoder.value(of: property, in: self)
      try copy.setValue(value, for: property.key)
    }
    copy.extras = extras
    copy.isChanged = isChanged
    copy.upgradedFrom = upgradedFrom
    return copy
  }
}

extension ModelContext {
  /// The model of this name: the same object for as long as it lives.
  ///
  /// - Returns: nil if there is no such document, or it is deleted.
  /// - Throws: as ``model(_:_:)``.
  public func model<M: Model>(_ id: ModelID<M>) throws -> M? { try model(M.self, id.documentID) }
}
