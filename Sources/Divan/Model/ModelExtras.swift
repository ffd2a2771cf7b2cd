/// What few models have: changes of something else than their declared properties.
///
/// Invariant: `undeclared` and `attachments` hold only what differs from the document. `bases` is asked for
/// properties only that are changed still.
struct ModelExtras {
  /// Properties that the class does not declare, by their keys, as they were set; nil if they are to go.
  var undeclared: ByteKeyed<Value?> = [:]
  /// What changed properties were changed from, by their keys, where the model took over another document
  /// since; nil if they were nothing.
  var bases: ByteKeyed<EncodedValue?> = [:]
  /// Attachments that were set, by their names; nil if they are to go.
  var attachments: ByteKeyed<Document.Attachment?> = [:]
  /// What a model that is not stored yet was made with.
  var givenAttachments: Document.Attachments = [:]
  /// The attachments that the document had when they were first asked for; nil before that.
  var originalAttachments: Document.Attachments?

  var isChanged: Bool { !undeclared.isEmpty || !attachments.isEmpty }
}

// MARK: - Properties by their keys

extension Model {
  /// What is stored under a key, or would be if the model were saved now, whether the class declares it or
  /// not.
  ///
  /// - Parameter key: the name of a property in the document.
  /// - Returns: the value, which may be ``Value/null``; nil if there is none.
  /// - Throws: ``DatabaseError`` with the codes `damaged` if the document cannot be read, or `invalidValue` if
  ///   the property has a value that cannot be stored.
  public final func value(for key: String) throws -> Value? {
    let declared = modelClass.property(for: key)
    noteAccess(declared.map { $0.observationPath(in: self) } ?? ModelObservation.undeclaredPath)
    if let property = declared {
      guard body != nil, !property.isDirty(in: self) else {
        return try ModelCoder.value(of: property, in: self, over: body)
      }
    } else if isUnsaved, modelClass.hasOwn(key) {
      return try ModelCoder.properties(of: self).property(key)?.decode()
    } else if let changed = extras?.undeclared[key] {
      return changed
    }
    return try body?.property(key)?.decode()
  }

  /// Sets what is stored under a key, whether the class declares it or not.
  ///
  /// - Parameters:
  ///   - value: the value; nil to store nothing. A declared property then becomes nil, or gets the value
  ///     that was declared if it cannot be nil.
  ///   - key: the name of a property in the document.
  /// - Throws: ``DatabaseError`` with the codes `mismatchedType` if the property is declared and cannot have
  ///   this value; `invalidValue` if nothing can be stored under this key, or if the value cannot be.
  public final func setValue(_ value: Value?, for key: String) throws {
    guard let property = modelClass.property(for: key) else {
      return try setUndeclared(value, for: key)
    }
    guard let value else { return property.reset(in: self) }
    let bytes = try ValueCoding.encode(value)
    guard property.assign(stored: bytes, to: self) else {
      throw DatabaseError(
        .mismatchedType, "\(type(of: self)).\(property.name) cannot be \(value.json)",
        documentID: documentID, propertyPath: key)
    }
  }

  private func setUndeclared(_ value: Value?, for key: String) throws(DatabaseError) {
    try PropertyNames.validate([key: value ?? .null])
    if let value { _ = try ValueCoding.encode(value) }
    var extras = extras ?? ModelExtras()
    if try body?.property(key)?.decode() == value {
      extras.undeclared[key] = nil
    } else {
      extras.undeclared[key] = .some(value)
    }
    announcing(ModelObservation.undeclaredPath) { change(extras) }
  }

  /// All properties as saving the model now would store them, those of its document that the class does
  /// not declare among them.
  ///
  /// What was changed elsewhere since the model was read is not among them.
  /// - Throws: as ``value(for:)``.
  public final func propertiesToSave() throws -> Value.Object {
    guard case .object(let object) = try ModelCoder.properties(of: self).decode() else {
      return [:]
    }
    return object
  }

  /// Takes over changes, and notes whether there are any.
  private func change(_ changed: ModelExtras) {
    extras = changed
    if changed.isChanged { return noteChange() }
    guard isChanged, !modelClass.properties.contains(where: { $0.isDirty(in: self) }) else {
      return
    }
    announcing(ModelObservation.statePath) { isChanged = false }
    if state == .stored, !isUnsaved { core?.noteClean(self) }
  }
}

// MARK: - Attachments

extension Model {
  /// The attachments of the model's document by their names, with what was added and removed here and not
  /// saved yet.
  ///
  /// ```swift
  /// film.attachments["poster"] = Document.Attachment(contentType: "image/jpeg", data)
  /// film.attachments["draft"] = nil
  /// try film.save()
  /// ```
  ///
  /// Reading them reads what the document says of them, not their content. Changing them changes the model;
  /// saving it writes what was changed over the attachments that the document has then, and throws
  /// ``DatabaseError/Code/conflict`` if one of them was changed elsewhere, too. If the document cannot be
  /// read there are none, and the context's ``ModelContext/errorHandler`` is told.
  public final var attachments: Document.Attachments {
    get {
      noteAccess(ModelObservation.attachmentsPath)
      var all = originalAttachments()
      for (name, attachment) in (extras?.attachments ?? [:]).entries { all[name] = attachment }
      return all
    }
    set {
      let original = originalAttachments()
      var extras = extras ?? ModelExtras()
      // By these, saving finds what others changed, also where there was nothing.
      extras.originalAttachments = original
      extras.attachments = [:]
      for (name, attachment) in newValue where original[name] != attachment {
        extras.attachments[name] = attachment
      }
      for name in original.keys where newValue[name] == nil {
        extras.attachments[name] = .some(nil)
      }
      announcing(ModelObservation.attachmentsPath) { change(extras) }
    }
  }

  /// Gives a new model the attachments of the document that it was made of.
  final func give(_ given: Document.Attachments) {
    guard !given.isEmpty else { return }
    attachments = given
    extras?.givenAttachments = given
  }

  private func originalAttachments() -> Document.Attachments {
    if let known = extras?.originalAttachments { return known }
    guard state != .new, let core else { return [:] }
    do {
      // What is remembered of them, here or by those who change them, is what the transaction has now.
      if core.isInTransaction { core.reversals.noteReading(of: self) }
      guard let document = try core.requireSnapshot().get(id) else { return [:] }
      // Most documents have none, and need nothing remembered.
      if !document.attachments.isEmpty || extras != nil {
        var extras = extras ?? ModelExtras()
        extras.originalAttachments = document.attachments
        self.extras = extras
      }
      return document.attachments
    } catch let error as DatabaseError {
      report(error)
    } catch {
      core.handle?.errorHandler?(error)
    }
    return [:]
  }

  /// Writes the changes of attachments over those that the document has now.
  final func merge(into current: Document.Attachments) throws(DatabaseError)
    -> Document.Attachments
  {
    guard let extras, !extras.attachments.isEmpty else { return current }
    var merged = current
    for (name, mine) in extras.attachments.entries {
      let theirs = current[name]
      if let original = extras.originalAttachments, theirs != original[name], theirs != mine {
        throw DatabaseError(
          .conflict, "the attachment \(name.debugDescription) was changed here and elsewhere",
          hint: "Refresh the context and save again, or revert the model", documentID: id,
          propertyPath: "_attachments.\(name)")
      }
      merged[name] = mine
    }
    return merged
  }

  /// Takes over the attachments that the document has now; returns whether they are others than those that
  /// were seen.
  final func rebase(onAttachments attachments: Document.Attachments) -> Bool {
    guard let known = extras?.originalAttachments, known != attachments else { return false }
    announcing(ModelObservation.attachmentsPath) { extras?.originalAttachments = attachments }
    return true
  }

  final var hasChangedAttachments: Bool { extras?.attachments.isEmpty == false }

  /// Forgets which attachments the document had, unless some were changed from them.
  final func forgetOriginalAttachments() {
    if extras?.attachments.isEmpty == true { extras?.originalAttachments = nil }
  }
}
