extension WriteTransaction {
  /// Stores a value of a type of your own; see ``DocumentEncoder``.
  ///
  /// ```swift
  /// struct Film: Codable {
  ///   @DocumentID var id: String?
  ///   var title: String
  /// }
  ///
  /// var film = Film(title: "Metropolis")
  /// film.id = try transaction.put(film).id
  /// ```
  ///
  /// If there is a document of its ID already, the value becomes its next revision: the properties that
  /// the type knows are as the value has them, and those that it does not know stay, as
  /// ``Document/encode(_:)`` says. With a property marked with ``DocumentRevision`` that is refused if
  /// somebody changed the document since the value was read; without one, the last one wins.
  ///
  /// Costs what it takes to encode the value and to put a document, and one read if it has an ID.
  ///
  /// - Parameters:
  ///   - value: what to store. Objects get their marked properties set; for structures see
  ///     ``put(_:id:)-78gez``.
  ///   - id: the document's ID; if nil, that of the property marked with ``DocumentID``, and if that is
  ///     nil or there is none, a new one.
  /// - Returns: the document as it is stored, with its ID, revision and sequence.
  /// - Throws: as ``DocumentEncoder/encode(_:id:)`` and ``put(_:)-(Document)``.
  @discardableResult
  public func put<T: Encodable & Sendable>(
    _ value: T, id: String? = nil
  ) throws -> Document {
    let encoded = try DocumentEncoder().encodeProperties(of: value)
    let document = try put(try draft(of: encoded, id: try encoded.documentID(id)))
    if T.self is AnyObject.Type { assign(document, to: encoded) }
    return document
  }

  /// Stores a value as ``put(_:id:)-6qtg3`` does, and sets its marked properties.
  ///
  /// A structure is read again from what was stored, so properties that are not coded are as
  /// `init(from:)` leaves them. Objects are as they were when the transaction is taken back; structures
  /// belong to the caller and stay as they were set.
  ///
  /// - Parameters:
  ///   - value: what to store; afterwards, what is stored.
  ///   - id: the document's ID; if nil, that of the property marked with ``DocumentID``, and if that is
  ///     nil or there is none, a new one.
  /// - Returns: the document as it is stored, with its ID, revision and sequence.
  /// - Throws: as ``put(_:id:)-6qtg3``, and as ``Document/decode(_:)``.
  @discardableResult
  public func put<T: Codable & Sendable>(
    _ value: inout T, id: String? = nil
  ) throws -> Document {
    try nested {
      let encoded = try DocumentEncoder().encodeProperties(of: value)
      let document = try put(try draft(of: encoded, id: try encoded.documentID(id)))
      if T.self is AnyObject.Type {
        assign(document, to: encoded)
      } else if encoded.hasMarks {
        value = try document.decode(T.self)
      }
      return document
    }
  }

  /// Stores several values, each as ``put(_:id:)-6qtg3`` does; all or none of them.
  ///
  /// Cheaper than one by one.
  ///
  /// - Returns: their IDs, in their order.
  @discardableResult
  public func put<T: Encodable & Sendable>(
    contentsOf values: some Sequence<T>
  ) throws -> [String] {
    try nested {
      var ids: [String] = []
      var batch: [(document: Document, encoded: EncodedProperties)] = []
      var batchIDs: Set<String> = []
      func flush() throws {
        try put(contentsOf: batch.map(\.document))
        if T.self is AnyObject.Type {
          for item in batch { assign(item.document, to: item.encoded) }
        }
        batch.removeAll(keepingCapacity: true)
        batchIDs.removeAll(keepingCapacity: true)
      }
      for value in values {
        let encoded = try DocumentEncoder().encodeProperties(of: value)
        if encoded.hasRevisionMark {
          // What it is to be set to is told for one document at a time.
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
        ids.append(id)
      }
      try flush()
      return ids
    }
  }

  /// The value of a type that the document of this ID is; nil if there is none or it is deleted.
  ///
  /// - Throws: as ``get(_:)-(String)`` and ``Document/decode(_:)``.
  public func get<T: Decodable>(_ type: T.Type, _ id: String) throws -> T? {
    try get(id)?.decode(type)
  }

  /// The values of a type that the documents of these IDs are, in their order; nil where there is none.
  ///
  /// - Throws: as ``get(_:)-([String])`` and ``Document/decode(_:)``.
  public func get<T: Decodable>(_ type: T.Type, _ ids: [String]) throws -> [T?] {
    try get(ids).map { try $0?.decode(type) }
  }

  /// The values of a type that the documents in a range are, as they are now; later changes do not show.
  public func documents<T: Decodable>(
    _ type: T.Type, _ range: IDRange = .all, descending: Bool = false
  ) throws -> DecodingCursor<T> {
    DecodingCursor(try documents(range, descending: descending))
  }

  /// Sets the marked properties of an object, until what is done here is taken back.
  private func assign(_ document: Document, to encoded: EncodedProperties) {
    let marks = encoded.assign(document)
    reversals.append { marks.takeBack() }
  }

  /// The document that is to be put for a value.
  private func draft(of encoded: EncodedProperties, id: String?) throws -> Document {
    guard let id, let current = try get(id) else {
      return Document(id: id ?? "", revision: encoded.revision, encoded.properties)
    }
    // Who changes another leaf than the winning one changes what that has.
    var base = current
    if encoded.hasRevisionMark, let revision = encoded.revision, revision != current.revision {
      base = try leaves(of: id).first { $0.revision == revision } ?? current
    }
    var document = Document(
      id: id, revision: encoded.hasRevisionMark ? encoded.revision : current.revision,
      try encoded.over(try base.encoded()))
    // A type says nothing of attachments, so they stay, as properties do that it does not know.
    document.attachments = base.attachments
    return document
  }
}
