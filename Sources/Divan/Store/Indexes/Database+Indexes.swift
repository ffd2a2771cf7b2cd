import DivanLog

extension Database {
  /// The indexes that can be used, in the order of the bytes of their names.
  public func indexes() throws -> [DocumentIndex] {
    let view = try store.view()
    try view.requireWhole()
    if store.configuration.damage == .refuse, let damage = store.report.damage.first {
      // It may be the record of an index.
      throw LogGap(end: nil, doubtEnd: nil, damage: damage).error()
    }
    return view.state.indexes.filter(\.isReady).map(\.index)
  }

  /// Makes an index of the documents, unless it is there.
  ///
  /// To be called whenever the database was opened: where nothing is to be done that costs nothing. Making it
  /// costs one read of every document; in a store of many, up to four threads read them, as many as the machine has
  /// processors. Reading and writing go on meanwhile, and from the beginning on the index follows what is written,
  /// and a unique one refuses what it must not have. If the process ends before it is made, the next call begins
  /// anew.
  ///
  /// - Parameters:
  ///   - index: what to make.
  ///   - progress: told the share that was done, between 0 and 1, on the caller's thread; making it stops with
  ///     ``DatabaseError/Code/cancelled`` when it returns false, and nothing is left.
  /// - Throws: ``DatabaseError`` with the codes `invalidIndex`; `alreadyExists` if there is another one of
  ///   that name, or the same is being made; `notUnique` if two documents have the same value where none may;
  ///   `damaged` if a document cannot be read; `cancelled`, also if somebody removes it meanwhile; and what
  ///   `write` throws. Then there is no such index.
  public func addIndex(
    _ index: DocumentIndex, progress: ((Double) -> Bool)? = nil
  ) throws {
    try index.validate(path)
    // So that it can be said by whoever only reads, too.
    if try indexes().contains(index) { return }
    guard let kept = try write({ try $0.begin(index) }) else { return }
    do {
      try store.fill(kept, progress)
      try write { try $0.finish(kept) }
    } catch {
      // It is of no use by half. If this fails too, the next opening gives it up.
      _ = try? removeIndex(named: index.name, number: kept.number)
      throw error
    }
    checkpointSoon()
  }

  /// Brings a new index into a checkpoint: until then an opening after a crash would have to make it anew.
  ///
  /// It is no harm if that fails now. At weaker levels of durability nobody waits for it; then it is done in the background, or
  /// by closing the database.
  private func checkpointSoon() {
    let configuration = store.configuration
    if configuration.durability != .full, configuration.maintenance == .background {
      store.maintenance.noteAppended(configuration.checkpointInterval, released: 0, store)
    } else {
      // The database may be writing one by itself just now, and there is never more than one.
      try? writeCheckpoint()
    }
  }

  /// Takes an index away.
  ///
  /// - Returns: whether there was one of that name.
  /// - Throws: what `write` throws.
  @discardableResult
  public func removeIndex(named name: String) throws -> Bool {
    try removeIndex(named: name, number: nil)
  }

  /// The same; with a number, only if it is the index of that number.
  private func removeIndex(named name: String, number: UInt64?) throws -> Bool {
    let removed: (Bool, number: UInt64?) = try write { transaction in
      let kept = transaction.state.indexes.first { haveSameUTF8($0.index.name, name) }
      // One that an earlier process did not finish has a record, and is kept by nobody.
      guard let locator = try transaction.locator(of: name),
        number == nil || kept?.number == number
      else { return (false, nil) }
      try transaction.append(
        IndexRecord(name: SharedBytes(utf8: name), superseded: locator, kept: nil))
      return (true, kept?.number)
    }
    // It is gone. If its entries cannot be removed now, nobody asks for them, and the next opening does it.
    if let number = removed.number { try? store.removeIndexEntries(of: number) }
    return removed.0
  }
}

extension WriteTransaction {
  /// Where the record of an index stands.
  fileprivate func locator(of name: String) throws(DatabaseError) -> RecordLocator? {
    try view.locator(in: \.catalog, CatalogKey.index(SharedBytes(utf8: name)))
  }

  /// Lets an index follow what is written from now on; nil if it is there already.
  fileprivate func begin(_ index: DocumentIndex) throws(DatabaseError) -> KeptIndex? {
    if let found = state.indexes.first(where: { haveSameUTF8($0.index.name, index.name) }) {
      if found.index == index, found.isReady { return nil }
      throw DatabaseError(
        .alreadyExists,
        found.index == index
          ? "that index is being made just now" : "there is another index of that name",
        hint: found.index == index
          ? "Wait until it is made" : "Remove it first, or choose another name", path: store.path)
    }
    let kept = KeptIndex(index: index, number: nextCommit, isReady: false)
    try append(
      IndexRecord(
        name: SharedBytes(utf8: index.name), superseded: try locator(of: index.name), kept: kept))
    return kept
  }

  /// Says that every document has its entries, and the index can be used.
  fileprivate func finish(_ kept: KeptIndex) throws(DatabaseError) {
    try state.requireBeingMade(kept, path: store.path)
    let ready = KeptIndex(index: kept.index, number: kept.number, isReady: true)
    try append(
      IndexRecord(
        name: SharedBytes(utf8: kept.index.name), superseded: try locator(of: kept.index.name),
        kept: ready))
  }
}

extension StoreState {
  /// Throws if somebody has removed an index while it is made.
  func requireBeingMade(_ kept: KeptIndex, path: String) throws(DatabaseError) {
    guard !indexes.contains(kept) else { return }
    throw DatabaseError(.cancelled, "the index was removed while it was made", path: path)
  }
}
