package import DivanLog

/// The contents of an opened store, for tools that measure them.
///
/// It reads the index, and only those records that are named below. Of a damaged store it shows
/// what can be read, without a claim that this is all. Memory does not grow with the store.
package struct InspectedContents {
  let view: ReadView

  /// Takes the version of the store that is visible now.
  package init(_ database: Database) throws {
    view = try database.store.view(for: database).ignoringGap
  }
}

extension InspectedContents {
  /// Versions before this commit may be incomplete.
  package var historyHorizon: UInt64 { view.state.historyHorizon }

  /// Returns the bytes of records in a segment: all, and those that nothing refers to any more.
  package func usage(of fileID: UInt64) -> (total: UInt64, dead: UInt64)? {
    view.state.segments.usage(of: fileID).map { ($0.total, $0.dead) }
  }

  /// A document in the index.
  package struct Entry {
    private let idBytes: SharedBytes
    private let entry: DocumentEntry

    init(_ idBytes: SharedBytes, _ entry: DocumentEntry) {
      self.idBytes = idBytes
      self.entry = entry
    }

    package var id: String { InspectedContents.text(ofID: idBytes) }
    /// The locator of the document's newest record.
    package var locator: RecordLocator { entry.locator }
    /// The generation of the winning revision.
    package var generation: UInt64 { entry.revision.generation }
    package var isDeleted: Bool { entry.isDeleted }
    /// Whether there is more than one leaf, or was.
    package var hasTree: Bool { entry.traits.contains(.tree) }
  }

  /// Calls `body` with each document in order of IDs, also with deleted ones; reads no record.
  package func forEachDocument(_ body: (Entry) -> Void) throws {
    var cursor = EntryCursor(view, .all, descending: false, includesDeleted: true)
    while let (id, entry) = try cursor.next() { body(Entry(id, entry)) }
  }

  /// Calls `body` with the locator of each record that the catalog names, except attachments.
  ///
  /// They are local documents, named snapshots, commit points and definitions of indexes.
  package func forEachOtherRecord(_ body: (RecordLocator) -> Void) throws {
    for kind in CatalogKey.Kind.leadingToRecords where kind != .attachment {
      var scan = view.state.catalog.scan(
        from: .inclusive([kind.rawValue]), to: .end(ofPrefix: [kind.rawValue]))
      while let item = try view.step(&scan) { body(try view.decodeLocator(item)) }
    }
  }

  /// Returns an ID as text; of bytes that are not UTF-8, their hexadecimal digits.
  static func text(ofID bytes: SharedBytes) -> String {
    bytes.text ?? bytes.array.map { String($0, radix: 16) }.joined(separator: " ")
  }
}

// MARK: - Retained records

extension InspectedContents {
  /// The reason why a superseded record is retained.
  package enum Retention: Sendable, CaseIterable {
    /// Its revision is a leaf: a branch of a conflict, or one that was deleted.
    case leaf
    /// A named snapshot shows it.
    case namedSnapshot
    /// History was kept when it was superseded, and no pass has released it yet.
    case history
    /// A record that would say why is damaged.
    case unknown
  }

  /// Calls `body` with each retained record that is not its document's newest one.
  ///
  /// A record with several reasons has the first one of ``Retention``. Reads the records of
  /// documents that have, or had, several leaves.
  package func forEachRetained(_ body: (Retention, RecordLocator) -> Void) throws {
    let named = try view.namedCommitPoints().map(\.commitPoint.sequence)
    try view.forEachRetained { (retained) throws(DatabaseError) in
      let (leaves, shown): (Set<UInt64>, Set<UInt64>)
      do throws(DatabaseError) {
        leaves = try retained.needed(byVersions: [], in: view)
        shown = named.isEmpty ? [] : try retained.needed(byVersions: named, in: view)
      } catch {
        guard error.code == .damaged else { throw error }
        for record in retained.records { body(.unknown, record.locator) }
        return true
      }
      for record in retained.records {
        let reason: Retention =
          leaves.contains(record.sequence)
          ? .leaf : shown.contains(record.sequence) ? .namedSnapshot : .history
        body(reason, record.locator)
      }
      return true
    }
  }
}

// MARK: - Indexes

extension InspectedContents {
  /// Measures each index that is complete, in the order of their names' bytes.
  ///
  /// Costs a scan of their entries. It calls `progress` repeatedly with the number of entries so
  /// far.
  package func indexMeasures(progress: (Int) -> Void) throws -> [IndexMeasure] {
    var count = 0
    return try view.state.indexes.filter(\.isReady).map { definition in
      let measure = try definition.kind.measure(view) { progress(count + $0) }
      count += measure.entryCount
      progress(count)
      return measure
    }
  }
}
