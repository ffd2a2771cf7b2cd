extension Model {
  /// Returns the value that saving the model now would store under a key.
  ///
  /// The class need not declare a property with this key.
  ///
  /// - Parameter key: the key of a property in the document.
  /// - Returns: the value, which may be ``Value/null``; nil if there is none.
  /// - Throws: ``DatabaseError`` with the codes `damaged` if the document cannot be read, or
  ///   `invalidValue` if the property has a value that cannot be stored.
  public final func value(for key: String) throws -> Value? {
    let declared = modelClass.property(for: key)
    noteAccess(declared.map { $0.observationPath(in: self) } ?? ModelObservation.undeclaredPath)
    if let property = declared {
      guard storedProperties != nil, !property.isDirty(in: self) else {
        return try ModelCoder.value(of: property, in: self, over: storedProperties)
      }
    } else if isUnsaved, modelClass.hasOwn(key) {
      return try ModelCoder.properties(of: self).property(key)?.decode()
    } else if let changed = pendingChanges?.undeclared[key] {
      return changed
    }
    return try storedProperties?.property(key)?.decode()
  }

  /// Sets the value under a key, whether the class declares a property with it or not.
  ///
  /// - Parameters:
  ///   - value: the value; nil to store nothing. A declared property then becomes nil, or has its
  ///     declared value if it cannot be nil.
  ///   - key: the key of a property in the document.
  /// - Throws: ``DatabaseError`` with the codes `mismatchedType` if the property is declared and
  ///   cannot have this value; `invalidValue` if nothing can be stored under this key, or if the
  ///   value cannot be stored.
  public final func setValue(_ value: Value?, for key: String) throws {
    guard let property = modelClass.property(for: key) else {
      return try setUndeclared(value, for: key)
    }
    guard let value else { return property.reset(in: self) }
    let bytes = try ValueEncoder.encode(value)
    guard property.assign(stored: bytes, to: self) else {
      throw DatabaseError(
        .mismatchedType, "\(type(of: self)).\(property.name) cannot be \(value.json)",
        documentID: documentID, propertyPath: key)
    }
  }

  private func setUndeclared(_ value: Value?, for key: String) throws(DatabaseError) {
    try PropertyNames.validate([key: value ?? .null])
    if let value { _ = try ValueEncoder.encode(value) }
    var pendingChanges = pendingChanges ?? PendingChanges()
    if try storedProperties?.property(key)?.decode() == value {
      pendingChanges.undeclared[key] = nil
      pendingChanges.bases[key] = nil
    } else {
      pendingChanges.undeclared[key] = .some(value)
    }
    announcing(ModelObservation.undeclaredPath) { change(pendingChanges) }
  }

  /// Returns all properties as saving the model now would store them.
  ///
  /// They include properties of the document that the class does not declare, but no external
  /// changes since the model was read.
  ///
  /// - Throws: the errors of ``value(for:)``.
  public final func propertiesToSave() throws -> Value.Object {
    guard case .object(let object) = try ModelCoder.properties(of: self).decode() else {
      return [:]
    }
    return object
  }

  /// Sets the pending changes, and updates whether the model is changed.
  private func change(_ changed: PendingChanges) {
    pendingChanges = changed
    if changed.isChanged { return noteChange() }
    guard isChanged, !modelClass.properties.contains(where: { $0.isDirty(in: self) }) else {
      return
    }
    // Nothing is left that an external change could conflict with.
    pendingChanges?.bases = [:]
    announcing(ModelObservation.statePath) { isChanged = false }
    if state == .stored, !isUnsaved { core?.noteClean(self) }
  }
}

extension Model {
  /// The attachments of the model's document by name, including unsaved changes.
  ///
  /// ```swift
  /// film.attachments["poster"] = Document.Attachment(contentType: "image/jpeg", data)
  /// film.attachments["draft"] = nil
  /// try film.save()
  /// ```
  ///
  /// Reading this property reads the attachments' descriptions, not their content. Setting it
  /// changes the model. Saving the model writes the changed attachments into the current document,
  /// and throws ``DatabaseError/Code/conflict`` if one of them was also changed externally. If the
  /// document cannot be read, the result is empty, and the context's ``ModelContext/errorHandler``
  /// receives the error.
  public final var attachments: Document.Attachments {
    get {
      noteAccess(ModelObservation.attachmentsPath)
      var all = originalAttachments()
      for (name, attachment) in (pendingChanges?.attachments ?? [:]).entries {
        all[name] = attachment
      }
      return all
    }
    set {
      let original = originalAttachments()
      var pendingChanges = pendingChanges ?? PendingChanges()
      // Saving compares with them to find external changes, even if there were no attachments.
      pendingChanges.originalAttachments = original
      pendingChanges.attachments = [:]
      for (name, attachment) in newValue where original[name] != attachment {
        pendingChanges.attachments[name] = attachment
      }
      for name in original.keys where newValue[name] == nil {
        pendingChanges.attachments[name] = .some(nil)
      }
      announcing(ModelObservation.attachmentsPath) { change(pendingChanges) }
    }
  }

  /// Gives a new model the attachments of the document from which it was created.
  final func give(_ given: Document.Attachments) {
    guard !given.isEmpty else { return }
    attachments = given
    pendingChanges?.givenAttachments = given
  }

  private func originalAttachments() -> Document.Attachments {
    if let known = pendingChanges?.originalAttachments { return known }
    guard state != .new, let core else { return [:] }
    do {
      // The attachments are those that the transaction has now, which a rollback may change.
      if core.isInTransaction { core.rollbackLog.noteReading(of: self) }
      guard let document = try core.requireSnapshot().document(id) else { return [:] }
      // Most documents have none, and need no pending changes.
      if !document.attachments.isEmpty || pendingChanges != nil {
        var pendingChanges = pendingChanges ?? PendingChanges()
        pendingChanges.originalAttachments = document.attachments
        self.pendingChanges = pendingChanges
      }
      return document.attachments
    } catch let error as DatabaseError {
      report(error)
    } catch {
      core.handle?.report(error)
    }
    return [:]
  }

  /// Returns the current attachments of the document, overwritten with the changed ones.
  final func merge(into current: Document.Attachments) throws(DatabaseError)
    -> Document.Attachments
  {
    guard let pendingChanges, !pendingChanges.attachments.isEmpty else { return current }
    var merged = current
    for (name, mine) in pendingChanges.attachments.entries {
      let theirs = current[name]
      if let original = pendingChanges.originalAttachments, theirs != original[name], theirs != mine
      {
        throw DatabaseError(
          .conflict,
          "the attachment \(name.debugDescription) has both an unsaved and an external change",
          hint:
            "To keep the unsaved one, refresh the context and save again; to keep the external "
            + "one, revert the model",
          documentID: id, propertyPath: "_attachments.\(name)")
      }
      merged[name] = mine
    }
    return merged
  }

  /// Takes over the document's attachments; returns whether they differ from those read before.
  final func rebase(onAttachments attachments: Document.Attachments) -> Bool {
    guard let known = pendingChanges?.originalAttachments, known != attachments else {
      return false
    }
    announcing(ModelObservation.attachmentsPath) {
      pendingChanges?.originalAttachments = attachments
    }
    return true
  }

  final var hasChangedAttachments: Bool { pendingChanges?.attachments.isEmpty == false }

  /// Forgets the document's original attachments, unless some have unsaved changes.
  final func forgetOriginalAttachments() {
    if pendingChanges?.attachments.isEmpty == true { pendingChanges?.originalAttachments = nil }
  }
}

extension Model {
  /// Makes writes to properties that are already dirty noted.
  final func hookDirtyProperties() {
    for location in modelClass.locations where isDirty(location) {
      setFlags(flags(at: location) | PropertyFlags.hooked, at: location)
    }
  }
}
