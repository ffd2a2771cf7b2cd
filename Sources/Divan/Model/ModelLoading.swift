import DivanLog

// How models are made of documents.

/// What a model is made of: a document's ID, and its properties in their stored form.
struct ModelContent {
  let id: String
  let body: EncodedValue
}

extension ModelContent {
  init(_ document: Document) throws(DatabaseError) {
    self.init(id: document.id, body: try document.encoded())
  }
}

extension ModelContextCore {
  /// The model of a document.
  func model<M: Model>(_ type: M.Type, of document: Document) throws -> M {
    try model(type, of: ModelContent(document))
  }

  /// The model of a document.
  func model<M: Model>(_ type: M.Type, of content: ModelContent) throws -> M {
    let hash = LiveModels.hash(of: content.id)
    if let known = live[content.id, hash: hash] {
      if let model = known as? M { return model }
      guard hasOtherClass(content.body, than: known) else { return try cast(known) }
      _ = telling { taken in detach(known, &taken) }
    }
    let model = try modelClass(type, of: content).init()
    model.core = self
    if !isObservable { model.stopObservation() }
    model.documentID = content.id
    model.attach(content.body, state: .stored)
    if isInTransaction { reversals.noteReading(of: model) }
    // Before anything else is called: what that reads may refer to this document again.
    live.set(model, hash: hash)
    model.upgradeIfOutdated()
    do {
      if isStrict { try model.load() }
    } catch {
      live.remove(model)
      noteClean(model)
      throw error
    }
    model.didLoad()
    model.awakeFromInitializer()
    return model
  }

  /// The model of a document, if that is one of the class and was not deleted here.
  func member<M: Model>(_ type: M.Type, of content: ModelContent) throws -> M? {
    guard isDocument(content.body, of: type) else { return nil }
    let model = try model(type, of: content)
    return model.state == .deleted ? nil : model
  }

  /// What the context's snapshot has of a document that was found in another; nil if nothing.
  func current(_ content: ModelContent, in snapshot: Snapshot) throws -> ModelContent? {
    let newest = try requireSnapshot()
    // Numbers of changes may come again in a transaction, after others were taken back.
    if !isInTransaction, newest.isSameVersion(as: snapshot) { return content }
    guard let document = try newest.get(content.id) else { return nil }
    return try ModelContent(document)
  }

  /// The class of the model of a document: the one that is registered for it, or that which was asked for.
  func modelClass<M: Model>(
    _ type: M.Type, of content: ModelContent
  ) throws(DatabaseError) -> M.Type {
    guard let registered = registry?.modelClass(of: content.body) else { return type }
    guard let found = registered as? M.Type else {
      throw DatabaseError(
        .otherModelClass, "the document is of the class \(registered), not \(type)",
        documentID: content.id)
    }
    return found
  }

  /// Whether a document is one of a class or of a subclass of it, as far as anything says so.
  func isDocument<M: Model>(_ document: Document, of type: M.Type) -> Bool {
    // One that cannot be stored is none of any class.
    guard let body = try? document.encoded() else { return false }
    return isDocument(body, of: type)
  }

  private func isDocument<M: Model>(_ body: EncodedValue, of type: M.Type) -> Bool {
    guard let registry else { return ModelKind.includes(body, type) }
    return ModelKind.includes(body, type, registry)
  }

  /// Whether there is a model of an ID here, or a document that saving a new model would meet.
  func isTaken(_ id: String) throws -> Bool {
    if let known = known(id), known.state != .deleted { return true }
    if try requireSnapshot().exists(id) { return true }
    guard case .database(let database) = source else { return false }
    // It may have been stored after what the context reads.
    return try database.snapshot().exists(id)
  }

  /// The model of an ID; nil if there is no such document and no new model.
  func model<M: Model>(_ type: M.Type, _ id: String) throws -> M? {
    let known = known(id)
    if let known, known.state == .deleted { return nil }
    if let model = known as? M { return model }
    guard let document = try requireSnapshot().get(id) else {
      return try known.map { try cast($0) }
    }
    return try model(type, of: document)
  }

  /// What a reference refers to; nil if it is not there, or is of another class.
  func target<M: Model>(_ id: String, _ type: M.Type) -> M? {
    do {
      let home = try home(of: type)
      if let known = home.known(id) { return known.state == .deleted ? nil : known as? M }
      return try home.model(type, id)
    } catch {
      handle?.errorHandler?(error)
      return nil
    }
  }

  /// The models of a class that references lead to; what is not there, or of another class, is left out.
  func targets<M: Model>(of references: [ModelReference], _ type: M.Type) throws -> [M] {
    try references.compactMap { reference in
      do {
        return try home(of: type).model(type, reference.id)
      } catch let error as DatabaseError where error.code == .otherModelClass {
        return nil
      }
    }
  }

  private func cast<M: Model>(_ model: Model) throws(DatabaseError) -> M {
    guard let cast = model as? M else {
      throw DatabaseError(
        .otherModelClass, "the context has a \(type(of: model)) for it, not a \(M.self)",
        documentID: model.id)
    }
    return cast
  }
}
