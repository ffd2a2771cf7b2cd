import DivanLog

/// What a model will be once the transaction that saves it is committed.
private struct SavedModel {
  let model: Model
  let body: EncodedValue
  /// Whether the document had been changed elsewhere, so that properties must be read again.
  let isMerged: Bool
}

extension ModelContextCore {
  /// Stores the changes of models in one transaction; with those that come up meanwhile, if it is to be
  /// everything.
  func save(_ models: some Sequence<Model>, isEverything: Bool = false) throws {
    guard !isSaving else {
      throw DatabaseError(
        .nestedWrite, "a hook of a model that is being saved saves",
        hint: "Save in `didSave`, or let `saveAllModels` save what `willSave` changes")
    }
    let chosen = try prepare(Array(models), isEverything: isEverything)
    guard !chosen.isEmpty else { return }
    let merged = try store(chosen)
    for model in merged { model.didLoad() }
    for model in chosen { model.didSave() }
  }

  /// Lets the models change themselves that are to be saved, and say what is wrong; returns those that
  /// have something to save.
  private func prepare(_ models: [Model], isEverything: Bool) throws -> [Model] {
    isSaving = true
    defer { isSaving = false }
    var chosen: [Model] = []
    var seen: Set<ObjectIdentifier> = []
    var next = models
    while !next.isEmpty {
      let first = chosen.count
      for model in next where seen.insert(ObjectIdentifier(model)).inserted {
        try requireSavable(model)
        if model.needsSave { chosen.append(model) }
      }
      for model in chosen[first...] { model.willSave(model.changedProperties) }
      next = isEverything ? unsaved.values.filter { !seen.contains(ObjectIdentifier($0)) } : []
      next.sort { $0.unsavedOrder < $1.unsavedOrder }
    }
    chosen.removeAll { !$0.needsSave }
    var failures: [InvalidModelsError.Failure] = []
    for model in chosen {
      var validation = ModelValidation(model)
      model.validate(&validation)
      failures += validation.failures
    }
    guard let first = failures.first else { return chosen }
    let error = InvalidModelsError(failures: failures)
    throw DatabaseError(
      .invalidModel, "nothing was saved: \(error)", documentID: first.documentID,
      underlying: error)
  }

  private func requireSavable(_ model: Model) throws(DatabaseError) {
    guard model.core === self else {
      throw DatabaseError(
        .notInContext, "the model is in \(model.core == nil ? "no" : "another") context",
        documentID: model.documentID)
    }
    if model.isDeleted, model.isChanged {
      throw DatabaseError(
        .notFound, "the model was changed after its document was deleted",
        documentID: model.documentID)
    }
  }

  /// Stores models in one transaction; returns those that took something over from their documents.
  private func store(_ chosen: [Model]) throws -> [Model] {
    var saved: [SavedModel] = []
    saved.reserveCapacity(chosen.count)
    try database.write { transaction in
      var coder = ModelCoder()
      // Documents are put in batches, so that not all of them are in memory twice.
      var batch: [Document] = []
      for model in chosen {
        let (document, result) = try coder.document(for: model, in: transaction)
        saved.append(result)
        batch.append(document)
        if batch.count == 256 {
          try transaction.put(contentsOf: batch)
          batch.removeAll(keepingCapacity: true)
        }
      }
      try transaction.put(contentsOf: batch)
    }
    for result in saved { finish(result) }
    advance(ownChanges: saved.count)
    return saved.filter(\.isMerged).map(\.model)
  }

  /// Makes a model clean that was saved.
  private func finish(_ saved: SavedModel) {
    let model = saved.model
    model.body = saved.body
    model.state = .stored
    model.isChanged = false
    for place in model.modelClass.places {
      let flags = model.flags(at: place)
      guard flags & PropertyFlags.dirty != 0 else { continue }
      let isReadAgain = flags & PropertyFlags.readAfterSaving != 0
      model.setFlags(
        flags & ~PropertyFlags.dirty | (isReadAgain ? PropertyFlags.unloaded : 0), at: place)
    }
    if saved.isMerged {
      // What was changed here is now what the document says; it is read again like the rest.
      model.rebase(on: saved.body)
      outdated.remove(model.id)
    }
    noteClean(model)
  }

  /// Deletes the document of a model.
  func delete(_ model: Model) throws {
    guard model.state == .stored else {
      model.state = .deleted
      noteClean(model)
      return
    }
    let deleted = try database.write { transaction in
      guard let document = try transaction.get(model.id) else { return 0 }
      guard try document.encoded().bytes == model.body?.bytes else {
        throw DatabaseError(
          .conflict, "the document was changed since the model was read",
          hint: "Refresh the context, and delete the model again", documentID: model.id)
      }
      return try transaction.delete(id: model.id) ? 1 : 0
    }
    model.state = .deleted
    noteClean(model)
    advance(ownChanges: deleted)
  }
}

/// Makes documents of models.
private struct ModelCoder: ~Copyable {
  private var encoder = ValueEncoder()
  private var coding = ValueCoding()
  private var writer = ByteWriter(capacity: 1024)

  /// The document to be put for a model.
  mutating func document(
    for model: Model, in transaction: WriteTransaction
  ) throws -> (Document, SavedModel) {
    guard let base = model.body else {
      let body = try encodeNew(model)
      return (
        Document(id: model.id, revision: nil, body),
        SavedModel(model: model, body: body, isMerged: false)
      )
    }
    guard model.state == .stored else {
      let body = try merge(model, over: base, type: model.modelClass.documentType)
      return (
        Document(id: model.id, revision: nil, body),
        SavedModel(model: model, body: body, isMerged: false)
      )
    }
    guard let current = try transaction.get(model.id) else {
      throw DatabaseError(
        .conflict, "the document was deleted since the model was read", documentID: model.id)
    }
    let currentBody = try current.encoded()
    let isMerged = currentBody.bytes != base.bytes
    let body = try merge(model, over: currentBody, type: nil)
    if isMerged { try requireCompatible(model, base: base, current: currentBody, result: body) }
    return (
      Document(id: model.id, revision: current.revision, body),
      SavedModel(model: model, body: body, isMerged: isMerged)
    )
  }

  /// The properties of a new model, straight from it.
  private mutating func encodeNew(_ model: Model) throws(DatabaseError) -> EncodedValue {
    writer.removeAll()
    let info = model.modelClass
    var type = info.documentType
    try encoder.encode(into: &writer) { (encoder) throws(DatabaseError) in
      encoder.beginObject()
      for index in info.encodingOrder {
        let property = info.properties[index]
        guard !property.isAbsent(in: model) else { continue }
        property.keyBytes.withSpan { encoder.addKey($0, source: 0) }
        try ModelCoder.encode(property, of: model, into: &encoder)
      }
      if let type = type.take() {
        withUTF8(of: info.documentTypeKey) { encoder.addKey($0, source: 0) }
        withUTF8(of: type) { encoder.add(text: $0) }
      }
      _ = encoder.endObject()
    }
    return EncodedValue(writer.sharedCopy)
  }

  /// A document's properties, with those written over that were changed in a model.
  private mutating func merge(
    _ model: Model, over document: EncodedValue, type: String?
  ) throws(DatabaseError) -> EncodedValue {
    let isTyped =
      type == nil ? true : try document.property(model.modelClass.documentTypeKey) != nil
    if !model.isChanged, isTyped { return document }
    guard case .object(var object) = try document.decode() else {
      throw DatabaseError(
        .damaged, "the document is no object of properties", documentID: model.documentID)
    }
    for property in model.modelClass.properties where property.isDirty(in: model) {
      object[property.key] = try value(of: property, in: model)
    }
    if !isTyped, let type { object[model.modelClass.documentTypeKey] = .string(type) }
    writer.removeAll()
    try coding.encode(.object(object), into: &writer)
    return EncodedValue(writer.sharedCopy)
  }

  private mutating func value(
    of property: any ModelProperty, in model: Model
  ) throws(DatabaseError) -> Value? {
    guard !property.isAbsent(in: model) else { return nil }
    writer.removeAll()
    try encoder.encode(into: &writer) { (encoder) throws(DatabaseError) in
      try ModelCoder.encode(property, of: model, into: &encoder)
    }
    return try EncodedValue(writer.sharedCopy).decode()
  }

  /// Checks that no property was changed here and elsewhere, unless to the same value.
  private func requireCompatible(
    _ model: Model, base: EncodedValue, current: EncodedValue, result: EncodedValue
  ) throws(DatabaseError) {
    for property in model.modelClass.properties where property.isDirty(in: model) {
      let theirs = try current.property(property.key)?.bytes
      let mine = try result.property(property.key)?.bytes
      let before = try base.property(property.key)?.bytes
      if theirs != before, theirs != mine {
        throw DatabaseError(
          .conflict,
          "the property \(property.key.debugDescription) was changed here and elsewhere",
          hint: "Refresh the context and save again, or revert the model", documentID: model.id)
      }
    }
  }

  private static func encode(
    _ property: any ModelProperty, of model: Model, into encoder: inout ValueEncoder
  ) throws(DatabaseError) {
    do throws(DatabaseError) {
      try property.encode(model, into: &encoder)
    } catch {
      let path = error.propertyPath.map { $0.hasPrefix("[") ? $0 : ".\($0)" } ?? ""
      throw DatabaseError(
        error.code, "\(type(of: model)).\(property.name) cannot be stored: \(error.message)",
        hint: error.hint, documentID: model.documentID, underlying: error.underlying,
        propertyPath: property.key + path)
    }
  }
}
