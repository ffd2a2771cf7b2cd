import DivanLog

// Loading of models from documents.

/// The content of a model: its document's ID, and the properties in their stored form.
struct ModelContent {
  let id: String
  let properties: EncodedValue
}

extension ModelContent {
  init(_ document: Document) throws(DatabaseError) {
    self.init(id: document.id, properties: try document.encoded())
  }
}

extension ModelContextCore {
  /// Returns the model of a document.
  func model<M: Model>(_ type: M.Type, of content: ModelContent) throws -> M {
    let hash = IdentityMap.hash(of: content.id)
    if let known = identityMap[content.id, hash: hash] {
      if let model = known as? M { return model }
      guard hasOtherClass(content.properties, than: known) else { return try cast(known) }
      _ = notifying { taken in detach(known, &taken) }
    }
    let model = try modelClass(type, of: content).init()
    model.core = self
    if !isObservable { model.stopObservation() }
    model.documentID = content.id
    model.attach(content.properties, state: .stored)
    if isInTransaction { rollbackLog.noteReading(of: model) }
    // Before any hook is called, which may read references to this document.
    identityMap.set(model, hash: hash)
    model.upgradeIfOutdated()
    do {
      if isStrict { try model.load() }
    } catch {
      identityMap.remove(model)
      noteClean(model)
      throw error
    }
    model.didLoad()
    model.didEnterContext()
    return model
  }

  /// Returns the model of a document if it is of the class and was not deleted here.
  func member<M: Model>(_ type: M.Type, of content: ModelContent) throws -> M? {
    guard ModelKind.includes(content.properties, type, registry) else { return nil }
    let model = try model(type, of: content)
    return model.state == .deleted ? nil : model
  }

  /// Returns the context's version of a document that another snapshot has; nil if there is none.
  func current(_ content: ModelContent, in snapshot: Snapshot) throws -> ModelContent? {
    let newest = try requireSnapshot()
    // In a transaction, a rollback lets sequence numbers be used again.
    if !isInTransaction, newest.isSameVersion(as: snapshot) { return content }
    guard let document = try newest.document(content.id) else { return nil }
    return try ModelContent(document)
  }

  /// Returns the class of a document's model: the registered one, or else the requested one.
  func modelClass<M: Model>(
    _ type: M.Type, of content: ModelContent
  ) throws(DatabaseError) -> M.Type {
    guard let registered = registry?.modelClass(of: content.properties) else { return type }
    guard let found = registered as? M.Type else {
      throw DatabaseError(
        .modelClassMismatch, "the document is of the class \(registered), not \(type)",
        documentID: content.id)
    }
    return found
  }

  /// Whether the context has a model with an ID, or a new model with it would conflict.
  func isTaken(_ id: String) throws -> Bool {
    if let known = known(id), known.state != .deleted { return true }
    if try requireSnapshot().exists(id) { return true }
    guard case .database(let database) = source else { return false }
    // The document may have been stored after the context's snapshot.
    return try database.snapshot().exists(id)
  }

  /// Returns the model with an ID; nil if there is no such document and no new model.
  func model<M: Model>(_ type: M.Type, id: String) throws -> M? {
    let known = known(id)
    if let known, known.state == .deleted { return nil }
    if let model = known as? M { return model }
    guard let document = try requireSnapshot().document(id) else {
      return try known.map { try cast($0) }
    }
    return try model(type, of: ModelContent(document))
  }

  /// Returns the target of a reference; nil if it does not exist or is of another class.
  func target<M: Model>(_ id: String, _ type: M.Type) -> M? {
    do {
      let targetCore = try targetCore(of: type)
      if let known = targetCore.known(id) { return known.state == .deleted ? nil : known as? M }
      return try targetCore.model(type, id: id)
    } catch {
      handle?.report(error)
      return nil
    }
  }

  /// Returns the targets of references, without those that do not exist or are of another class.
  func targets<M: Model>(of references: [ModelReference], _ type: M.Type) throws -> [M] {
    try references.compactMap { reference in
      do {
        return try targetCore(of: type).model(type, id: reference.id)
      } catch let error as DatabaseError where error.code == .modelClassMismatch {
        return nil
      }
    }
  }

  private func cast<M: Model>(_ model: Model) throws(DatabaseError) -> M {
    guard let cast = model as? M else {
      throw DatabaseError(
        .modelClassMismatch,
        "the context's model of the document is a \(type(of: model)), not a \(M.self)",
        documentID: model.id)
    }
    return cast
  }
}
