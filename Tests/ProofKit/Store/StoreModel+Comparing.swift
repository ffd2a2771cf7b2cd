package import Divan
import DivanLog
import Foundation

extension StoreModel {
  /// Throws unless a snapshot has exactly the contents of the model.
  ///
  /// Compares the feed, the documents, each with all its leaves, the content of its attachments and
  /// the IDs of its ancestors, and the local documents.
  ///
  /// Documents in `unknown` are not compared. For a past version, expiries are not compared, and it
  /// has no local documents.
  package func compare(
    _ snapshot: Snapshot, except unknown: Set<String> = [], isPast: Bool = false
  ) throws {
    try compareFeed(snapshot, unknown)
    var live = documents.filter { !$0.value.winner.isDeleted && !unknown.contains($0.key) }
    if unknown.isEmpty {
      let count = try snapshot.count
      try expect(count == live.count, "it counts \(count) instead of \(live.count)")
    }
    var cursor = snapshot.documents()
    while let document = try cursor.next() {
      guard !unknown.contains(document.id) else { continue }
      try expect(
        live.removeValue(forKey: document.id)?.winner == Entry(document),
        "\(document.id) is \(document.json)")
    }
    try expect(live.isEmpty, "\(live.keys) are missing")
    for (id, document) in inOrder where !unknown.contains(id) {
      try compare(document, id, snapshot, isPast: isPast)
    }
    try compareLocals(snapshot, isPast: isPast)
  }

  private func compareFeed(_ snapshot: Snapshot, _ unknown: Set<String>) throws {
    var feed = snapshot.changes()
    var count = 0
    var last: UInt64 = 0
    while let change = try feed.next() {
      try expect(change.sequence > last, "the feed is out of order")
      last = change.sequence
      guard !unknown.contains(change.id) else { continue }
      // Each number occurs once, so each document does.
      count += 1
      guard let document = documents[change.id], document.winner == Entry(change.document),
        document.newest == change.sequence, document.hasConflicts == change.hasConflicts
      else {
        throw CrashOracle.Mismatch(
          "in the feed \(change.id) is \(Entry(change.document)) at \(change.sequence) and not "
            + (documents[change.id].map { "\($0.leaves) at \($0.newest)" } ?? "none"))
      }
    }
    let expected = documents.keys.count { !unknown.contains($0) }
    try expect(count == expected, "the feed has \(count) documents instead of \(expected)")
  }

  private func compare(
    _ document: Lineage, _ id: String, _ snapshot: Snapshot, isPast: Bool
  ) throws {
    // For every document: it may be the only difference between versions with the same sequence
    // numbers.
    if !isPast {
      let expiry = try snapshot.expiry(of: id).map { UInt64($0.timeIntervalSince1970 * 1000) }
      try expect(
        expiry == document.expiry,
        "\(id) expires \(expiry ?? 0) and not \(document.expiry ?? 0)")
    }
    guard isLookedAt(document) else { return }
    let leaves = try snapshot.leaves(of: id)
    try expect(
      leaves.map(Entry.init) == document.leaves,
      "the leaves of \(id) are \(leaves.map(Entry.init)) and not \(document.leaves)")
    for leaf in leaves { try AttachedContent.check(leaf) }
    for (index, leaf) in leaves.compactMap(\.revision).enumerated() {
      let expected = document.revisions(leadingTo: leaf)
      let found = try snapshot.revisions(leadingTo: leaf, of: id)
      try expect(found == expected, "to \(id) \(leaf) lead \(found) and not \(expected)")
      guard index == 0 else { continue }
      let winning = try snapshot.revisions(of: id)
      try expect(winning == expected, "the revisions of \(id) are \(winning) and not \(expected)")
    }
  }

  /// Whether all of a document is compared: one in eight of the plain ones, to detect changes.
  private func isLookedAt(_ document: Lineage) -> Bool {
    let isPlain =
      document.isChain && !document.isPruned && document.winner.attachments.isEmpty
    return !isPlain || document.newest % 8 == lastSequence % 8
  }

  private func compareLocals(_ snapshot: Snapshot, isPast: Bool) throws {
    let ids = try snapshot.localDocumentIDs()
    let expected = isPast ? [] : locals.keys.sorted()
    try expect(ids == expected, "the local documents are \(ids) and not \(expected)")
    for id in ids {
      try expect(
        try snapshot.localDocument(id) == locals[id], "the local document \(id) is another")
    }
  }

  /// Compares the named versions and the earlier revisions of a database.
  ///
  /// `retention` must have been in effect all the time for the revisions that it promises.
  package func compareBesides(_ database: Database, _ retention: HistoryRetention) throws {
    let snapshot = try database.snapshot()
    try compareNamed(database)
    try compareIndexes(database, snapshot)
    for (id, document) in inOrder where !document.past.isEmpty {
      try comparePast(document, id, snapshot, retention)
      if isLookedAt(document) { try compareHistory(document, id, snapshot, retention) }
    }
  }

  /// Returns whether a database has the named snapshots and the indexes of this version.
  package func hasNames(of database: Database) throws -> Bool {
    let found = try database.namedSnapshots()
    guard try Set(database.indexes().map(\.name)) == indexes else { return false }
    return found.map(\.name) == named.keys.sorted()
      && found.allSatisfy { named[$0.name]?.sequence == $0.sequence }
  }

  private func compareIndexes(_ database: Database, _ snapshot: Snapshot) throws {
    let found = try database.indexes().map(\.name)
    try expect(Set(found) == indexes, "the indexes are \(found) and not \(indexes.sorted())")
    guard !found.isEmpty else { return }
    let all = documents.filter { id, document in
      !document.winner.isDeleted && id != CrashOracle.clock && document.winner.number >= 0
    }.map { (id: $0.key, number: $0.value.winner.number, size: $0.value.winner.size) }
      .sorted { one, other in
        one.number != other.number
          ? one.number < other.number : one.id.utf8.lexicographicallyPrecedes(other.id.utf8)
      }
    for name in found {
      if StoreModel.isOfWords(name) {
        try compareWords(snapshot, name)
        continue
      }
      let expected = all.filter {
        !StoreModel.isOfShort(name) || 0..<StoreModel.shortSize ~= $0.size
      }
      let ids = try snapshot.ids(by: name)
      let ordered = try ids.collect()
      try expect(
        ordered == expected.map(\.id), "the index \(name) is \(ordered) and not \(expected)")
      guard let middle = expected.dropFirst(expected.count / 2).first?.number else { continue }
      let upper = try snapshot.documents(by: name, IndexRange(from: .int(middle)), descending: true)
      let found = try upper.collect().map(\.id)
      let wanted = expected.filter { $0.number >= middle }.map(\.id)
      try expect(
        found == wanted.reversed(), "the index \(name) has \(found) from \(middle), not \(wanted)")
      if StoreModel.index(name).paths.count > 1 { try compareTexts(snapshot, name, expected) }
    }
  }

  /// Queries an index for each number, with texts from its document's own on, and above it.
  private func compareTexts(
    _ snapshot: Snapshot, _ name: String, _ expected: [(id: String, number: Int64, size: Int)]
  ) throws {
    for (id, number, size) in expected.prefix(8) where size >= 0 {
      let text = Value.string(StoreModel.text(size))
      for (range, isIncluded) in [(IndexRange(from: text), true), (.greater(than: text), false)] {
        let ids = try snapshot.ids(by: name, .equal(to: .int(number)).then(range))
        let found = try ids.collect().contains(id)
        try expect(
          found == isIncluded, "the index \(name) has \(id) from its text on: \(found)")
      }
    }
  }

  /// Searches a full-text index for words of the texts, and for one that no text has.
  private func compareWords(_ snapshot: Snapshot, _ name: String) throws {
    let texts = documents.filter { !$0.value.winner.isDeleted && $0.value.winner.size >= 0 }
      .mapValues { StoreModel.words($0.winner.size) }
    var words = Set(texts.values.joined()).sorted().prefix(12)
    words.append("z")
    for word in words {
      let expected = texts.filter { $0.value.contains(word) }.keys.sorted {
        $0.utf8.lexicographicallyPrecedes($1.utf8)
      }
      let query = Query<Document>().filter(.matches(.fullText(String(word)), index: name))
      let found = try snapshot.find(query).map(\.id)
      try expect(
        found == expected, "the index \(name) has \(word) in \(found) and not in \(expected)")
      let ranked = try snapshot.find(query.sort(.relevance)).map(\.id)
      try expect(Set(ranked) == Set(expected), "by relevance, \(word) is in \(ranked)")
    }
  }

  private func compareNamed(_ database: Database) throws {
    let found = try database.namedSnapshots()
    try expect(
      found.map(\.name) == named.keys.sorted(), "the named snapshots are \(found.map(\.name))")
    for each in found {
      guard let model = named[each.name] else { continue }
      let count = model.documents.values.count { !$0.winner.isDeleted }
      try expect(
        each.sequence == model.sequence && each.documentCount == count, "\(each) is another")
      try comparePast(model.documents, database.snapshot(named: each.name), at: model.sequence)
    }
  }

  /// Compares an earlier version, as it is readable now.
  package func comparePast(
    _ documents: [String: Lineage], _ snapshot: Snapshot, at sequence: UInt64
  ) throws {
    let (model, unknown) = past(documents, at: sequence)
    do {
      try model.compare(snapshot, except: unknown, isPast: true)
    } catch let error as CrashOracle.Mismatch {
      throw CrashOracle.Mismatch("the version at \(sequence): \(error)")
    }
  }

  /// Compares earlier revisions: retained ones must exist, and existing ones must be right.
  private func comparePast(
    _ document: Lineage, _ id: String, _ snapshot: Snapshot, _ retention: HistoryRetention
  ) throws {
    let sure = document.past.suffix(from: document.firstSurePast).suffix(10)
    for (index, entry) in sure.reversed().enumerated() {
      guard let revision = entry.revision else { continue }
      if let found = try snapshot.revision(revision, of: id) {
        // Beyond a certain depth even their IDs are dropped.
        try expect(document.knows(revision), "revision \(revision) of \(id) was pruned")
        var entry = entry
        // If a leaf was purged, another was written again, with another number.
        if !document.isChain { entry.sequence = found.sequence }
        try expect(Entry(found) == entry, "revision \(revision) of \(id) is \(Entry(found))")
        try AttachedContent.check(found)
      } else {
        let isKept =
          document.knows(revision) && retention.promises(index, isChain: document.isChain)
        try expect(!isKept, "revision \(revision) of \(id) is not held")
      }
    }
  }

  /// Compares the winning revision and its ancestors, and which of them still have bodies.
  ///
  /// The first must have one, and others only if they are retained.
  private func compareHistory(
    _ document: Lineage, _ id: String, _ snapshot: Snapshot, _ retention: HistoryRetention
  ) throws {
    let history = try snapshot.history(of: id)
    let expected = document.winner.revision.map(document.revisions(leadingTo:)) ?? []
    try expect(
      history.map(\.id) == expected, "the history of \(id) is \(history.map(\.id))")
    let held = history.filter { $0.document != nil }.map(\.id)
    try expect(held.first == expected.first, "of the history of \(id) only \(held) are held")
    if retention == .disabled, !hasHadNames {
      try expect(
        held.count == 1, "of the history of \(id), \(held) are held and not the first alone")
    }
    for revision in history {
      guard let body = revision.document else { continue }
      try expect(
        body.revision == revision.id, "\(revision.id) of \(id) has the body of another revision")
    }
  }
}

extension HistoryRetention {
  /// Whether it keeps the `index`-th replaced revision, counted from the newest one.
  fileprivate func promises(_ index: Int, isChain: Bool) -> Bool {
    if self == .unlimited { return true }
    // In a conflict, records count, and leaves are among them.
    return isChain && index < revisions ?? 0
  }

  /// Whether a read of a past version may be rejected though there is no error.
  package var mayRefuse: Bool { self != .unlimited }
}

// MARK: Files of attachments

extension StoreModel {
  /// Returns the digests of attachments larger than a limit: which must have files, and which may.
  ///
  /// Those of retained earlier revisions may.
  package func attachmentFiles(
    largerThan limit: Int, _ retention: HistoryRetention
  ) -> (needed: Set<String>, allowed: Set<String>) {
    func digests(_ entries: some Sequence<Entry>) -> Set<String> {
      Set(entries.flatMap { $0.attachments.values }.filter { $0.length > limit }.map(\.digest))
    }
    var needed = digests(documents.values.flatMap(\.leaves))
    var allowed: Set<String> = []
    for version in named.values {
      let (model, unknown) = past(version.documents, at: version.sequence)
      for (id, document) in model.documents {
        let those = digests(document.leaves)
        guard unknown.contains(id) else {
          needed.formUnion(those)
          continue
        }
        // After a leaf was purged, this version may show any earlier revision that is still
        // retained.
        allowed.formUnion(those.union(digests(document.past)))
      }
    }
    for document in documents.values where retention != .disabled {
      for (index, entry) in document.past.reversed().enumerated() {
        // Revisions that named versions show do not count against the limit.
        let isKept = retention.promises(index - named.count, isChain: document.isChain)
        if isKept || !document.isChain { allowed.formUnion(digests([entry])) }
      }
    }
    return (needed, allowed.union(needed))
  }
}
