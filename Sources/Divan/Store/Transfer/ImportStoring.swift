import DivanLog

/// The results of some lines.
struct ImportOutcome {
  var storedCount = 0
  var unchangedCount = 0
  var skippedCount = 0
  var conflictCount = 0
  var errors: [DatabaseError] = []
  /// The digests of contents that documents now refer to.
  var referencedDigests: [SHA256.Digest] = []

  enum Kind {
    /// The line was stored, and changed the number of documents in conflict.
    case stored(addedConflicts: Int)
    case unchanged, skipped

    static let stored = stored(addedConflicts: 0)
  }

  mutating func count(_ kind: Kind) {
    switch kind {
    case .stored(let addedConflicts):
      storedCount += 1
      conflictCount += addedConflicts
    case .unchanged: unchangedCount += 1
    case .skipped: skippedCount += 1
    }
  }
}

/// A step that stores a batch in a transaction.
struct ImportStoring {
  let transaction: WriteTransaction
  let blobs: ImportedBlobs
  let options: JSONLines.ImportOptions
  private(set) var outcome = ImportOutcome()
  /// New documents with only properties, which are stored in a batch.
  private var plain: [(line: Int, document: Document)] = []
  private var plainIDs: Set<String> = []

  init(
    _ transaction: WriteTransaction, _ blobs: ImportedBlobs, _ options: JSONLines.ImportOptions
  ) {
    self.transaction = transaction
    self.blobs = blobs
    self.options = options
  }
}

extension ImportStoring {
  mutating func store(_ batch: ImportBatch) throws {
    for item in batch.items {
      switch item.content {
      case .document(let document):
        if let plainDocument = try self.plainDocument(document) {
          plain.append((item.line, plainDocument))
          plainIDs.insert(document.id)
        } else {
          try storePlain()
          try store(item.line) { storing in try storing.store(document) }
        }
      case .localDocument(let id, let properties):
        try store(item.line) { storing in try storing.store(localDocument: id, properties) }
      }
    }
    try storePlain()
    // A line's result does not say whether a document refers to the content that came with it.
    for digest in batch.digests where try transaction.view.isReferenced(digest) {
      outcome.referencedDigests.append(digest)
    }
  }

  /// Returns a new document that has only properties; nil for all others.
  private func plainDocument(_ document: ImportedDocument) throws -> Document? {
    guard document.history.isEmpty, document.attachments.isEmpty, document.expiry == nil,
      !document.isDeleted, !plainIDs.contains(document.id)
    else { return nil }
    let current = try transaction.view.entry(document.id, isProbablyThere: false)
    guard current?.isDeleted ?? true else { return nil }
    return Document(id: document.id, revision: nil, document.properties)
  }

  private mutating func storePlain() throws {
    defer {
      plain.removeAll(keepingCapacity: true)
      plainIDs.removeAll(keepingCapacity: true)
    }
    do {
      try transaction.put(contentsOf: plain.lazy.map(\.document))
      outcome.storedCount += plain.count
    } catch {
      // One by one, to find out which of them cannot be stored.
      for (line, document) in plain {
        try store(line) { storing in
          try storing.transaction.put(document)
          return .stored
        }
      }
    }
  }

  /// Stores a line, or records its refusal.
  private mutating func store(
    _ line: Int, _ body: (ImportStoring) throws -> ImportOutcome.Kind
  ) throws {
    do {
      let storing = self
      // A savepoint is needed only if the import continues after a failure.
      outcome.count(
        options.onInvalidLine == .skip
          ? try transaction.savepoint { try body(storing) } : try body(storing))
    } catch {
      let error = DatabaseError(importing: error, line: line)
      guard options.onInvalidLine == .skip, error.isOfLine else { throw error }
      outcome.errors.append(error)
    }
  }
}

extension ImportStoring {
  private func store(_ imported: ImportedDocument) throws -> ImportOutcome.Kind {
    var document = Document(id: imported.id, revision: nil, imported.properties)
    document.attachments = try attachments(of: imported)
    guard imported.history.isEmpty else {
      let wasInConflict = try hasConflict(document.id)
      let isNew = try transaction.insert(
        document, history: imported.history, isDeleted: imported.isDeleted)
      if let expiry = imported.expiry { try transaction.setExpiry(expiry, of: document.id) }
      guard isNew else { return .unchanged }
      let isInConflict = try hasConflict(document.id)
      return .stored(addedConflicts: (isInConflict ? 1 : 0) - (wasInConflict ? 1 : 0))
    }
    guard let existing = try transaction.document(imported.id) else {
      if imported.isDeleted { return .unchanged }
      try transaction.put(document)
      if let expiry = imported.expiry { try transaction.setExpiry(expiry, of: document.id) }
      return .stored
    }
    return try store(imported, document, over: existing)
  }

  /// Stores a line whose document exists already.
  private func store(
    _ imported: ImportedDocument, _ document: Document, over existing: Document
  ) throws -> ImportOutcome.Kind {
    var next = existing
    next.replaceProperties(with: imported.properties)
    next.attachments = document.attachments
    let isSame =
      !imported.isDeleted && existing.storedProperties == imported.properties.bytes
      && existing.attachments == document.attachments
    if !isSame {
      switch options.onExisting {
      case .skip: return .skipped
      case .fail: throw conflict(imported.id)
      case .replace:
        _ = try imported.isDeleted ? transaction.delete(next) : transaction.put(next)
      }
    }
    if options.onExisting == .replace, !imported.isDeleted, let expiry = imported.expiry {
      try transaction.setExpiry(expiry, of: imported.id)
    }
    return isSame ? .unchanged : .stored
  }

  /// Whether a document has several branches that are not deleted.
  private func hasConflict(_ id: String) throws -> Bool {
    guard let entry = try transaction.view.entry(id), entry.traits.contains(.tree) else {
      return false
    }
    return try transaction.view.leafRevisions(of: id).count { !$0.isDeleted } > 1
  }

  private func store(
    localDocument id: String, _ properties: EncodedValue
  ) throws -> ImportOutcome.Kind {
    let new = try properties.decode().objectValue ?? [:]
    if let existing = try transaction.localDocument(id) {
      if existing == new || recordsSameMigrations(id, existing, new) { return .unchanged }
      switch options.onExisting {
      case .skip: return .skipped
      case .fail: throw conflict("_local/" + id)
      case .replace: break
      }
    }
    try transaction.putLocal(id, new)
    return .stored
  }

  /// Whether both are the record of migrations, and name the same ones.
  ///
  /// A database that was opened with the migrations of the exported one ran them at another time.
  private func recordsSameMigrations(
    _ id: String, _ existing: Value.Object, _ new: Value.Object
  ) -> Bool {
    haveSameUTF8(id, Migration.documentID) && haveSameNames(Array(existing.keys), Array(new.keys))
  }

  private func conflict(_ id: String) -> DatabaseError {
    DatabaseError(
      .conflict, "there is already another document with this ID",
      hint: "Choose how to handle such documents with the option `onExisting`", documentID: id)
  }

  /// Returns a line's attachments, with contents from the line, earlier lines or the store.
  private func attachments(
    of imported: ImportedDocument
  ) throws(DatabaseError) -> Document.Attachments {
    var attachments: Document.Attachments = [:]
    for attachment in imported.attachments {
      let (body, length) = try content(of: attachment, imported.id)
      attachments[attachment.name] = Document.Attachment(
        contentType: attachment.contentType, length: length, generation: attachment.generation,
        body: body, foreignDigest: attachment.foreignDigest)
    }
    return attachments
  }

  private func content(
    of attachment: ImportedAttachment, _ id: String
  ) throws(DatabaseError) -> (Document.Attachment.Body, length: Int) {
    if let bytes = attachment.content { return (.bytes(bytes), bytes.count) }
    if let digest = attachment.digest,
      let known = try known(digest),
      attachment.length ?? known.length == known.length
    {
      return (known.body, known.length)
    }
    var path = "_attachments"
    PropertyPath.append(key: attachment.name, to: &path)
    throw DatabaseError(
      .invalidAttachment,
      "the content of an attachment is neither in the text nor in the database, at \(path)",
      hint: "Export with the content of attachments", documentID: id, propertyPath: path)
  }
}

extension ImportStoring {
  /// Returns an attachment whose content came before this line or is in the store.
  private func known(_ digest: SHA256.Digest) throws(DatabaseError) -> Document.Attachment? {
    if let attachment = blobs[digest] { return attachment }
    return try transaction.view.storedAttachment(digest)
  }
}

extension DatabaseError {
  /// Converts an error that was thrown while a line was imported.
  ///
  /// Validations may throw any error.
  init(importing error: any Error, line: Int) {
    self =
      (error as? DatabaseError)?.withoutLongTexts
      ?? DatabaseError(.validationFailed, "a validation threw an error", underlying: error)
    self.line = line
  }

  /// The same error with long strings shortened.
  ///
  /// Many errors are kept, and must not retain their lines.
  private var withoutLongTexts: DatabaseError {
    var error = DatabaseError(
      code, message.excerpt, hint: hint?.excerpt, documentID: documentID?.excerpt, path: path,
      offset: offset, underlying: (underlying as? DatabaseError)?.withoutLongTexts ?? underlying,
      propertyPath: propertyPath?.excerpt)
    error.column = column
    error.importReport = importReport
    error.validationFailure = validationFailure
    return error
  }

  /// Whether the error concerns only its line, so that another line may be stored.
  var isOfLine: Bool {
    switch code {
    case .conflict, .invalidDocumentID, .invalidRevisionID, .invalidValue, .invalidAttachment,
      .invalidJSON, .documentTooLarge, .validationFailed:
      true
    default: false
    }
  }
}
