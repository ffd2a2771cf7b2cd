import Dispatch
import DivanLog
import Synchronization

extension FullTextIndex {
  func fill(_ store: Store, _ progress: ((Double) -> Bool)?) throws(DatabaseError) {
    try FullTextBuild(definition, FullTextBatch(definition, analyser), store).run(progress)
  }
}

/// Fills a full-text index with the terms of existing documents.
///
/// Several threads read documents and make their terms, each in a batch of its own. Then the
/// building thread adds the batches one after the other, in slices. Other writers write between
/// them, and add the documents that they change. So a document that has changed since it was read
/// is left out.
final class FullTextBuild: Sendable {
  private let store: Store
  private let definition: IndexDefinition
  /// The number of threads that read.
  private let readerCount: Int
  private let common: Guarded<Common>

  /// The state that the readers share.
  private struct Common {
    /// The batch of each reader, while it does not read.
    var batches: [FullTextBatch]
    var partitions: SequencePartitioner
    /// Parts of partitions that there was no room for.
    var rests: [SequencePartition] = []
    /// The error that stops the build, and the sequence number of its document.
    var failure: (sequence: UInt64, error: DatabaseError)?
  }

  /// The numbers of documents and terms that are added before other writers get the writer lock.
  private var itemsPerSlice: Int { min(1024, max(1, store.configuration.indexBuildBatchSize)) }
  private var termsPerSlice: Int { min(512, max(1, store.configuration.indexBuildBatchSize)) }

  init(
    _ definition: IndexDefinition, _ batch: FullTextBatch, _ store: Store
  ) throws(DatabaseError) {
    self.store = store
    self.definition = definition
    let readerCount = store.indexBuildWorkerCount
    self.readerCount = readerCount
    common = Guarded(
      Common(
        batches: Array(repeating: batch, count: readerCount),
        partitions: SequencePartitioner(
          try store.view(), documentCount: SequencePartition.documentCount)))
  }
}

extension FullTextBuild {
  /// Reads and adds all documents, and reports the completed share; false cancels.
  func run(_ progress: ((Double) -> Bool)?) throws(DatabaseError) {
    var doneCount = 0
    while !common.withLock({ $0.partitions.isAtEnd && $0.rests.isEmpty }) {
      let view = try store.view()
      common.withLock { $0.partitions.move(to: view) }
      if readerCount == 1 {
        read(view)
      } else {
        DispatchQueue.concurrentPerform(iterations: readerCount) { _ in read(view) }
      }
      if let failure = common.withLock({ $0.failure }) { throw failure.error }
      try report(doneCount, progress)
      for _ in 0..<readerCount {
        var batch = common.withLock { $0.batches.removeLast() }
        doneCount += try add(&batch, readFrom: view)
        common.withLock { $0.batches.insert(batch, at: 0) }
        try report(doneCount, progress)
      }
    }
  }

  private func report(_ count: Int, _ progress: ((Double) -> Bool)?) throws(DatabaseError) {
    let total = max(1, Int(clamping: store.commits.visible?.state.documentCount ?? 0))
    guard progress?(min(1, Double(count) / Double(total))) ?? true else {
      throw DatabaseError(.cancelled, "building the index was cancelled", path: store.path)
    }
  }

  /// Reads partitions until a batch has its share of the memory.
  private func read(_ view: ReadView) {
    // There is one for each call, also if a thread makes several of them.
    let next = common.withLock { common in
      common.batches.firstIndex { !$0.hasLists }.map { common.batches.remove(at: $0) }
    }
    guard var batch = next else { return }
    var last: UInt64 = 0
    do throws(DatabaseError) {
      while hasRoom(batch), let partition = try takePartition() {
        last = partition.start
        if let rest = try read(partition, of: view, into: &batch, &last) {
          common.withLock { $0.rests.append(rest) }
        }
      }
    } catch {
      common.withLock { common in
        if let failure = common.failure, failure.sequence <= last { return }
        common.failure = (last, error)
      }
    }
    // Here, because the threads do it side by side.
    batch.makeLists()
    common.withLock { $0.batches.append(batch) }
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
        batch.add(record.idBytes, EncodedValue(record.body), sequence: last)
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

  /// Adds a batch to the index, and empties it; returns the number of its documents.
  private func add(
    _ batch: inout FullTextBatch, readFrom view: ReadView
  ) throws(DatabaseError) -> Int {
    let count = batch.items.count
    defer { batch.removeAll() }
    guard count > 0 else { return 0 }
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
    return count
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

/// The documents of a batch that writers have changed since they were read, and added themselves.
private struct DroppedItems {
  var items: Set<Int> = []
  /// Whether nothing has been written since the documents were read.
  private(set) var isUndisturbed = true
  /// The counter that shows whether anything has changed since.
  private var changesAndPurges: UInt64

  init(_ view: ReadView) { changesAndPurges = view.state.changesAndPurges }

  mutating func update(_ batch: FullTextBatch, _ newest: ReadView) throws(DatabaseError) {
    guard newest.state.changesAndPurges != changesAndPurges else { return }
    changesAndPurges = newest.state.changesAndPurges
    isUndisturbed = false
    for (index, item) in batch.items.enumerated() where !items.contains(index) {
      // Not the revision: a document may be purged and written again with the same one.
      if try newest.newestEntry(item.id)?.sequence != item.sequence { items.insert(index) }
    }
  }
}
