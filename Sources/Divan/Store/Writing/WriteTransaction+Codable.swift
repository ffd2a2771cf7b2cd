extension WriteTransaction {
  /// Stores a value of a `Codable` type; see ``DocumentEncoder``.
  ///
  /// ```swift
  /// struct Film: Codable {
  ///   @DocumentID var id: String? = nil
  ///   var title: String
  /// }
  ///
  /// var film = Film(title: "Metropolis")
  /// film.id = try transaction.put(film).id
  /// ```
  ///
  /// If there is already a document with its ID, the value becomes its next revision. Properties
  /// that the type has are set from the value, and other properties stay, as
  /// ``Document/encode(_:)`` describes. If the document was changed since the value was read, a
  /// property marked with ``DocumentRevision`` makes the call fail, also if it is nil. If the type
  /// has no such property, the last writer wins.
  ///
  /// Costs encoding the value and putting a document, and one read if the value has an ID.
  ///
  /// - Parameters:
  ///   - value: The value to store. Marked properties of objects are set; for structures, see
  ///     ``put(_:id:)-78gez``.
  ///   - id: The document's ID. If nil, the ID in the property marked with ``DocumentID``; if that
  ///     is nil too, or there is none, a new ID.
  /// - Returns: The stored document, with its ID, revision and sequence.
  /// - Throws: The errors of ``DocumentEncoder/encode(_:id:)`` and ``put(_:)-(Document)``.
  @discardableResult
  public func put<T: Encodable & Sendable>(
    _ value: T, id: String? = nil
  ) throws -> Document {
    try put(value, id: id, onConflict: .fail)
  }

  /// Stores a value of a `Codable` type, also if its document was changed since you read it.
  ///
  /// ```swift
  /// try transaction.put(settings, onConflict: .overwrite)     // the last writer wins
  /// ```
  ///
  /// - Parameters:
  ///   - value: The value to store. Marked properties of objects are set.
  ///   - id: The document's ID, as in ``put(_:id:)-6qtg3``.
  ///   - policy: What to do if the document was changed since the value was read, or if the value's
  ///     ``DocumentRevision`` is nil and there is already a document with its ID.
  /// - Returns: The stored document, with its ID, revision and sequence.
  /// - Throws: The errors of ``DocumentEncoder/encode(_:id:)`` and ``put(_:onConflict:)``.
  @discardableResult
  public func put<T: Encodable & Sendable>(
    _ value: T, id: String? = nil, onConflict policy: ConflictPolicy
  ) throws -> Document {
    let encoded = try DocumentEncoder().encodeProperties(of: value)
    let document = try put(
      try draft(of: encoded, id: try encoded.documentID(id)), onConflict: policy)
    if T.self is AnyObject.Type { assign(document, to: encoded) }
    return document
  }

  /// Stores a value as ``put(_:id:)-6qtg3`` does, and sets its marked properties.
  ///
  /// A structure is decoded again from the stored document, so properties that are not coded have
  /// the values that `init(from:)` gives them. If the transaction is rolled back, objects are
  /// restored; structures belong to the caller and keep the values set.
  ///
  /// - Parameters:
  ///   - value: The value to store; afterwards, the stored value.
  ///   - id: The document's ID. If nil, the ID in the property marked with ``DocumentID``; if that
  ///     is nil too, or there is none, a new ID.
  /// - Returns: The stored document, with its ID, revision and sequence.
  /// - Throws: The errors of ``put(_:id:)-6qtg3`` and ``Document/decode(_:)``.
  @discardableResult
  public func put<T: Codable & Sendable>(
    _ value: inout T, id: String? = nil
  ) throws -> Document {
    try savepoint {
      let encoded = try DocumentEncoder().encodeProperties(of: value)
      let document = try put(try draft(of: encoded, id: try encoded.documentID(id)))
      if T.self is AnyObject.Type {
        assign(document, to: encoded)
      } else if encoded.hasMetadata {
        value = try document.decode(T.self)
      }
      return document
    }
  }

  /// Stores several values, each as ``put(_:id:)-6qtg3`` does; all or none of them.
  ///
  /// Cheaper than one by one.
  ///
  /// - Returns: Their IDs, in the same order.
  @discardableResult
  public func put<T: Encodable & Sendable>(
    contentsOf values: some Sequence<T>
  ) throws -> [String] {
    try savepoint {
      var ids: [String] = []
      var batch: [(document: Document, encoded: EncodedProperties)] = []
      var batchIDs: Set<String> = []
      // Retained: the address of an object that is released may be that of the next one.
      var batchObjects: [ObjectIdentifier: AnyObject] = [:]
      func flush() throws {
        try put(contentsOf: batch.map(\.document))
        if T.self is AnyObject.Type {
          for item in batch { assign(item.document, to: item.encoded) }
        }
        batch.removeAll(keepingCapacity: true)
        batchIDs.removeAll(keepingCapacity: true)
        batchObjects.removeAll(keepingCapacity: true)
      }
      for value in values {
        let object: ObjectIdentifier? =
          T.self is AnyObject.Type ? ObjectIdentifier(value as AnyObject) : nil
        // An object that comes again has an ID only after it was stored.
        if let object, batchObjects[object] != nil { try flush() }
        let encoded = try DocumentEncoder().encodeProperties(of: value)
        if encoded.hasRevisionProperty {
          // Setting the revision needs the stored document, which only a single put returns.
          try flush()
          let document = try put(try draft(of: encoded, id: encoded.id))
          if T.self is AnyObject.Type { assign(document, to: encoded) }
          ids.append(document.id)
          continue
        }
        let id = try encoded.documentID(nil) ?? store.configuration.documentIDs.next()
        // The second of two values of one ID depends on the first.
        if batch.count == 64 || batchIDs.contains(id) { try flush() }
        batch.append((try draft(of: encoded, id: id), encoded))
        batchIDs.insert(id)
        if let object { batchObjects[object] = value as AnyObject }
        ids.append(id)
      }
      try flush()
      return ids
    }
  }

  /// Returns the document with an ID, decoded as a type; nil if there is none or it is deleted.
  ///
  /// - Throws: The errors of ``document(_:)`` and ``Document/decode(_:)``.
  public func value<T: Decodable>(_ type: T.Type, id: String) throws -> T? {
    try document(id)?.decode(type)
  }

  /// Returns the documents with these IDs, decoded as a type, in the same order.
  ///
  /// The result has nil where there is none.
  ///
  /// - Throws: The errors of ``documents(_:)`` and ``Document/decode(_:)``.
  public func values<T: Decodable>(_ type: T.Type, ids: [String]) throws -> [T?] {
    try documents(ids).map { try $0?.decode(type) }
  }

  /// Returns a cursor over the documents in a range as of now, decoded as a type.
  ///
  /// Later changes do not show.
  public func documents<T: Decodable>(
    _ type: T.Type, _ range: some IDRangeExpression = .all, descending: Bool = false
  ) throws -> DecodingCursor<T> {
    DecodingCursor(try documents(range, descending: descending))
  }

  /// Changes a document as a value of a type; does nothing if it does not exist.
  ///
  /// If `change` leaves the coded properties as they are, no revision is stored.
  ///
  /// ```swift
  /// try transaction.update(Todo.self, id: "milk") { $0.isDone = true }
  /// ```
  ///
  /// - Returns: The stored document, or nil if there is none.
  /// - Throws: The errors of ``Document/decode(_:)`` and ``put(_:id:)-6qtg3``.
  @discardableResult
  public func update<T: Codable & Sendable>(
    _ type: T.Type, id: String, _ change: (inout T) throws -> Void
  ) throws -> Document? {
    guard let document = try document(id) else { return nil }
    var value = try document.decode(type)
    // Encoding the value can give other bytes than the stored ones, such as 3.0 for a 3.
    let original = try DocumentEncoder().encodeProperties(of: value)
    let (originalID, originalRevision) = (original.id, original.revision)
    try change(&value)
    let encoded = try DocumentEncoder().encodeProperties(of: value)
    if encoded.properties.bytes == original.properties.bytes, encoded.id == originalID,
      encoded.revision == originalRevision, try isCurrent(document)
    {
      return document
    }
    let changed = try put(try draft(of: encoded, id: try encoded.documentID(id)))
    if T.self is AnyObject.Type { assign(changed, to: encoded) }
    return changed
  }

  /// Deletes the document of a value, by storing a deleted revision with the value's properties.
  ///
  /// The type needs a property marked with ``DocumentID``. If it also has one marked with
  /// ``DocumentRevision``, the document must not have been changed since the value was read.
  ///
  /// - Throws: The errors of ``delete(_:)-(Document)``; `invalidDocumentID` if the value has no ID.
  @discardableResult
  public func delete<T: DocumentCodable>(_ value: T) throws -> Document {
    let encoded = try DocumentEncoder().encodeProperties(of: value)
    guard let id = encoded.id else {
      throw DatabaseError(
        .invalidDocumentID, "the value of \(T.self) to delete has no ID",
        hint: "Mark a property with @DocumentID and read the value, or delete by ID")
    }
    return try delete(try draft(of: encoded, id: id))
  }

  /// Sets the metadata properties of an object; a rollback restores them.
  private func assign(_ document: Document, to encoded: EncodedProperties) {
    let metadata = encoded.assign(document)
    rollbackLog.append { metadata.restore() }
  }

  /// Returns the document to put for a value.
  private func draft(of encoded: EncodedProperties, id: String?) throws -> Document {
    guard let id, let current = try document(id) else {
      return Document(id: id ?? "", revision: encoded.revision, encoded.properties)
    }
    // A value read from a leaf that does not win is based on that leaf.
    var base = current
    if encoded.hasRevisionProperty, let revision = encoded.revision, revision != current.revision {
      base = try leaves(of: id).first { $0.revision == revision } ?? current
    }
    var document = Document(
      id: id, revision: encoded.hasRevisionProperty ? encoded.revision : current.revision,
      try encoded.over(try base.encoded()))
    // A type does not declare attachments, so they stay, as properties that it does not have do.
    document.attachments = base.attachments
    return document
  }
}
