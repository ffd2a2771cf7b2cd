import DivanLog

/// An index of values: an entry for each document, or one for each element of an array.
///
/// Its entries are keys of the catalog: ``IndexEntries``.
struct ValueIndex: IndexKind {
  let definition: IndexDefinition

  static var tree: WritableKeyPath<Version, LayeredTree> { \.catalog }
  static var followsFromDocuments: Bool { true }
  static func prefix(of number: UInt64) -> [UInt8] { IndexEntries.prefix(number) }

  static func number(ofKey key: SharedBytes) -> UInt64? {
    IndexEntries.isEntry(key) ? IndexEntries.number(of: key) : nil
  }

  func isOutdated(in version: Version) -> Bool { false }
}

// MARK: - Upkeep

extension ValueIndex {
  func addChange(
    from old: IndexedContent, to new: IndexedContent, in version: Version,
    to change: inout IndexChange
  ) throws(PageError) {
    guard needsKeys(from: old, to: new) else { return }
    let id = change.id
    let oldKeys = try keys(old, of: id, in: version)
    var newKeys = IndexKeySet()
    if let revision = new.revision {
      let entries = IndexEntries.entries(definition, of: revision.properties, id: id)
      newKeys = entries.all
      // During the build, another document may have an old value that nothing was compared with.
      for start in entries.unique
      where !definition.isReady || !oldKeys.contains(start + id.array) {
        change.requireUnique(start, in: definition.index.name)
      }
    }
    // An index being built may lack the document's old entries: its builder skips changed
    // documents.
    let added = definition.isReady ? newKeys.subtracting(oldKeys) : newKeys
    let removed = oldKeys.subtracting(newKeys)
    guard added.count > 0 || removed.count > 0 else { return }
    change.add(Edit(removed: removed, added: added, value: UInt8(id.count)))
  }

  /// Whether a change may concern the keys of a document.
  private func needsKeys(from old: IndexedContent, to new: IndexedContent) -> Bool {
    guard definition.isReady, let one = old.revision, let other = new.revision else { return true }
    let index = definition.index
    func isSame(_ path: [String]) -> Bool {
      IndexEntries.haveSameBytes(at: path, one.properties, other.properties)
    }
    return !(index.paths.allSatisfy(isSame) && index.conditions.allSatisfy { isSame($0.path) })
  }

  private struct Edit: IndexEdit {
    let removed: IndexKeySet
    let added: IndexKeySet
    /// The value of each entry: the size of the document's ID.
    let value: UInt8

    func apply(to version: inout Version) {
      for key in removed { version.catalog.remove(key.span) }
      let value = [value]
      for key in added { version.catalog.set(key.span, value.span) }
    }
  }

  /// Returns the keys that a document with some content has.
  private func keys(
    _ content: IndexedContent, of id: SharedBytes, in version: Version
  ) throws(PageError) -> IndexKeySet {
    switch content {
    case .none: IndexKeySet()
    case .revision(let revision):
      IndexEntries.entries(definition, of: revision.properties, id: id).all
    // Its values are unknown, but the document must not be found by them any longer.
    case .unreadable: try keys(of: id, in: version)
    }
  }

  /// Returns all keys of a document by scanning the index, for unreadable documents.
  private func keys(of id: SharedBytes, in version: Version) throws(PageError) -> IndexKeySet {
    var keys: [[UInt8]] = []
    var scan = scan(version)
    while let item = try scan.next() {
      if IndexEntries.read(item)?.id == id { keys.append(item.key.array) }
    }
    return IndexKeySet(keys)
  }

  private func scan(_ version: Version) -> LayeredScan {
    version.catalog.scan(
      from: .inclusive(definition.keyPrefix), to: .end(ofPrefix: definition.keyPrefix))
  }
}

// MARK: - Filling while nothing else writes

extension ValueIndex {
  func makeFilling() -> any IndexFilling { Filling(definition: definition) }

  private struct Filling: IndexFilling {
    let definition: IndexDefinition

    func add(
      _ id: SharedBytes, _ revision: IndexedRevision, to version: inout Version
    ) {
      let value = [UInt8(id.count)]
      for key in IndexEntries.entries(definition, of: revision.properties, id: id).all {
        version.catalog.set(key.span, value.span)
      }
    }

    func finish(in version: inout Version) {}
  }
}

// MARK: - Checking and measuring

extension ValueIndex {
  func makeCheck(_ view: ReadView) -> any IndexCheck { Check(index: self, view: view) }

  private struct Check: IndexCheck {
    let index: ValueIndex
    let view: ReadView
    /// The number of entries that the index should have.
    private var entryCount = 0
    private var isSound = true

    init(index: ValueIndex, view: ReadView) {
      self.index = index
      self.view = view
    }

    mutating func check(_ document: StoredDocument, _ id: String) throws(DatabaseError) {
      let keys = IndexEntries.entries(
        index.definition, of: EncodedValue(document.body), id: document.idBytes
      ).all
      entryCount += keys.count
      do throws(DatabaseError) {
        for key in keys { try requireEntry(key, of: id) }
      } catch {
        if error.code == .damaged { isSound = false }
        throw error
      }
    }

    private func requireEntry(_ key: [UInt8], of id: String) throws(DatabaseError) {
      let isThere = try view.repairing { (version) throws(PageError) in
        try version.state.catalog.contains(key.span)
      }
      guard !isThere else { return }
      throw DatabaseError(
        .damaged, "the index \(index.definition.index.name.debugDescription) lacks the document",
        documentID: id, path: view.environment.path)
    }

    func finish() throws(DatabaseError) {
      guard isSound else { return }
      var found = 0
      var scan = index.scan(view.state)
      while try view.step(&scan) != nil { found += 1 }
      guard found != entryCount else { return }
      throw DatabaseError(
        .damaged,
        "the index \(index.definition.index.name.debugDescription) has \(found) entries, and should "
          + "have \(entryCount)", path: view.environment.path)
    }
  }

  func measure(_ view: ReadView, progress: (Int) -> Void) throws(DatabaseError) -> IndexMeasure {
    var measure = IndexMeasure(index: definition.index)
    var scan = scan(view.state)
    // Entries are ordered by their values, so equal values are neighbours.
    var last: SharedBytes?
    while let item = try view.step(&scan) {
      guard let (value, _) = IndexEntries.read(item) else {
        throw view.noEntry(ByteError(offset: 0, reason: "it has no value"))
      }
      measure.entryCount += 1
      measure.size += item.key.count + item.value.count
      if last != value { measure.distinctCount += 1 }
      last = value
      if measure.entryCount.isMultiple(of: 4096) { progress(measure.entryCount) }
    }
    return measure
  }
}
