import Dispatch
import DivanLog
import Synchronization

extension FullTextIndex {
  func fill(_ store: Store, _ progress: ((Double) -> Bool)?) throws(DatabaseError) {
    try FullTextBuild(definition, analyser, store).run(progress)
  }
}

/// Fills a full-text index with the terms of existing documents.
///
/// Several threads read documents and make their terms, each in a batch of its own. In the next
/// round, one of them first adds these batches to the index, in slices, while the others read on.
/// Other writers write between the slices, and add the documents that they change. So a document
/// that has changed since it was read is left out.
final class FullTextBuild: Sendable {
  private let store: Store
  private let definition: IndexDefinition
  private let analyser: TextAnalyser
  /// The number of threads that read.
  private let readerCount: Int
  private let common: Guarded<Common>

  /// The state that the threads share.
  private struct Common {
    /// Batches without documents.
    var empty: [FullTextBatch]
    /// Batches that were read in this round.
    var read: [FullTextBatch] = []
    var partitions: SequencePartitioner
    /// Parts of partitions that there was no room for.
    var rests: [SequencePartition] = []
    /// The number of documents that are in the index.
    var doneCount = 0
    /// The error that stops the build, and the sequence number of its document; none for an error
    /// of adding.
    var failure: (sequence: UInt64, error: DatabaseError)?

    var isDone: Bool { partitions.isAtEnd && rests.isEmpty && read.isEmpty }

    /// Begins a round, and returns the batches of the last one.
    mutating func begin(_ view: ReadView) -> [FullTextBatch] {
      partitions.move(to: view)
      defer { read = [] }
      return read
    }
  }

  /// The numbers of documents and terms that are added before other writers get the writer lock.
  private var itemsPerSlice: Int { min(1024, max(1, store.configuration.indexBuildBatchSize)) }
  private var termsPerSlice: Int { min(512, max(1, store.configuration.indexBuildBatchSize)) }

  init(
    _ definition: IndexDefinition, _ analyser: TextAnalyser, _ store: Store
  ) throws(DatabaseError) {
    self.store = store
    self.definition = definition
    self.analyser = analyser
    let readerCount = store.indexBuildWorkerCount
    self.readerCount = readerCount
    common = Guarded(
      Common(
        // Of each thread, one is read while another one is added.
        empty: Array(repeating: FullTextBatch(definition, analyser), count: 2 * readerCount),
        partitions: SequencePartitioner(
          try store.view(), documentCount: SequencePartition.documentCount)))
  }
}

extension FullTextBuild {
  /// Reads and adds all documents, and reports the completed share; false cancels.
  func run(_ progress: ((Double) -> Bool)?) throws(DatabaseError) {
    var lastView: ReadView?
    while !common.withLock({ $0.isDone }) {
      let view = try store.view()
      let lastRound = (batches: common.withLock { $0.begin(view) }, view: lastView ?? view)
      if readerCount == 1 {
        run(0, view, after: lastRound)
      } else {
        DispatchQueue.concurrentPerform(iterations: readerCount) { thread in
          run(thread, view, after: lastRound)
        }
      }
      lastView = view
      let (failure, doneCount) = common.withLock { ($0.failure, $0.doneCount) }
      if let failure { throw failure.error }
      try report(doneCount, progress)
      store.writeCheckpointIfLarge()
    }
  }

  private func report(_ count: Int, _ progress: ((Double) -> Bool)?) throws(DatabaseError) {
    let total = max(1, Int(clamping: store.commits.visible?.state.documentCount ?? 0))
    guard progress?(min(1, Double(count) / Double(total))) ?? true else {
      throw DatabaseError(.cancelled, "building the index was cancelled", path: store.path)
    }
  }

  /// Does the work of one thread in a round.
  private func run(
    _ thread: Int, _ view: ReadView, after lastRound: (batches: [FullTextBatch], view: ReadView)
  ) {
    var last: UInt64 = 0
    do throws(DatabaseError) {
      if thread == 0 {
        for batch in lastRound.batches { try add(batch, readFrom: lastRound.view) }
      }
      try read(view, &last)
    } catch {
      common.withLock { common in
        if let failure = common.failure, failure.sequence <= last { return }
        common.failure = (last, error)
      }
    }
  }

  /// Reads partitions until a batch has its share of the memory.
  private func read(_ view: ReadView, _ last: inout UInt64) throws(DatabaseError) {
    // There is one for each call, also if a thread makes several of them.
    guard var batch = common.withLock({ $0.empty.popLast() }) else { return }
    while hasRoom(batch), let partition = try takePartition() {
      last = partition.start
      if let rest = try read(partition, of: view, into: &batch, &last) {
        common.withLock { $0.rests.append(rest) }
      }
    }
    guard !batch.items.isEmpty else {
      common.withLock { $0.empty.append(batch) }
      return
    }
    // Here, because the threads do it side by side.
    batch.makeLists()
    common.withLock { $0.read.append(batch) }
  }

  private func hasRoom(_ batch: FullTextBatch) -> Bool {
    batch.size < FullTextBatch.sizeLimit / readerCount
  }

  /// Reads documents of a partition while there is room, one at least; returns the rest of it.
  private func read(
    _ partition: SequencePartition, of view: ReadView, into batch: inout FullTextBatch,
    _ last: inout UInt64
  ) throws(DatabaseError) -> SequencePartition? {
    var scan = partition.scan(view)
    while let item = try view.step(&scan) {
      last = SequencePartition.sequence(item) ?? last
      let (location, record) = try view.changedDocument(last, at: view.decodeLocator(item))
      if !location.isDeleted, let record {
        let revision = try view.indexedRevision(record, for: analyser)
        batch.add(record.idBytes, revision, sequence: last)
      }
      if !hasRoom(batch) { return SequencePartition(start: last, end: partition.end) }
    }
    return nil
  }

  /// Returns the next partition; nil if there is none, or the build has failed.
  private func takePartition() throws(DatabaseError) -> SequencePartition? {
    try common.withLock { (common) throws(DatabaseError) in
      guard common.failure == nil else { return nil }
      if let rest = common.rests.popLast() { return rest }
      return try common.partitions.next()
    }
  }

  /// Adds a batch to the index, and empties it.
  private func add(_ batch: FullTextBatch, readFrom view: ReadView) throws(DatabaseError) {
    var batch = batch
    let count = batch.items.count
    defer {
      batch.removeAll()
      common.withLock { common in
        common.empty.append(batch)
        common.doneCount += count
      }
    }
    let lists = batch.takeLists()
    var dropped = DroppedItems(view)
    let first = try changing(&dropped, batch) { (tree, batch, _) throws(PageError) in
      try batch.reserveNumbers(in: &tree)
    }
    for start in stride(from: 0, to: count, by: itemsPerSlice) {
      let range = start..<min(start + itemsPerSlice, count)
      let known = try changing(&dropped, batch) { (tree, batch, dropped) throws(PageError) in
        try batch.addItems(range, first: first, to: &tree, without: dropped.items)
      }
      dropped.items.formUnion(known)
    }
    for start in stride(from: 0, to: lists.count, by: termsPerSlice) {
      let slice = lists[start..<min(start + termsPerSlice, lists.count)]
      try changing(&dropped, batch) { (tree, batch, dropped) throws(PageError) in
        try batch.add(
          slice, first: first, to: &tree, without: dropped.items,
          isUndisturbed: dropped.isUndisturbed)
      }
    }
  }

  /// Changes the texts of the newest version, without the documents that have changed since they
  /// were read.
  private func changing<R>(
    _ dropped: inout DroppedItems, _ batch: FullTextBatch,
    _ body: (inout LayeredTree, FullTextBatch, DroppedItems) throws(PageError) -> R
  ) throws(DatabaseError) -> R {
    try store.withWriter { (writer) throws(DatabaseError) in
      try writer.newest.requireBuilding(definition, path: store.path)
      let newest = writer.view(of: store)
      try dropped.update(batch, newest)
      let dropped = dropped
      let (texts, result) = try newest.repairing { (version) throws(PageError) in
        var texts = version.state.texts
        let result = try body(&texts, batch, dropped)
        return (texts, result)
      }
      writer.changeNewest { $0.texts = texts }
      return result
    }
  }
}
