import Dispatch
import DivanLog
import Synchronization

/// Fills a full-text index with the terms of existing documents.
///
/// Several threads read documents and make their terms, each in a batch of its own. Then the building
/// thread adds the batches one after the other, in slices. Other writers write between them, and add
/// the documents that they change. So a document that has changed since it was read is left out.
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
    /// The error that stops the build, and the sequence number of its document.
    var failure: (sequence: UInt64, error: DatabaseError)?
  }

  /// The documents and terms that are added before other writers get the writer lock.
  private static let itemsPerSlice = 1024
  private static let termsPerSlice = 512

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
    while !common.withLock({ $0.partitions.isAtEnd }) {
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
    // There is one for each thread.
    guard var batch = common.withLock({ $0.batches.popLast() }) else { return }
    var last: UInt64 = 0
    do throws(DatabaseError) {
      while batch.size < FullTextBatch.sizeLimit / readerCount,
        let partition = try takePartition()
      {
        last = partition.start
        try read(partition, of: view, into: &batch, &last)
      }
    } catch {
      common.withLock { common in
        if let failure = common.failure, failure.sequence <= last { return }
        common.failure = (last, error)
      }
    }
    common.withLock { $0.batches.append(batch) }
  }

  private func read(
    _ partition: SequencePartition, of view: ReadView, into batch: inout FullTextBatch,
    _ last: inout UInt64
  ) throws(DatabaseError) {
    var scan = partition.scan(view)
    while let item = try view.step(&scan) {
      last = SequencePartition.sequence(item) ?? last
      let (location, record) = try view.changedDocument(last, at: view.decodeLocator(item))
      guard !location.isDeleted, let record else { continue }
      batch.add(record.idBytes, EncodedValue(record.body), revision: record.revision)
    }
  }

  /// Returns the next partition; nil if there is none, or the build has failed.
  private func takePartition() throws(DatabaseError) -> SequencePartition? {
    try common.withLock { (common) throws(DatabaseError) in
      common.failure == nil ? try common.partitions.next() : nil
    }
  }

  /// Adds a batch to the index, and empties it; returns the number of its documents.
  private func add(
    _ batch: inout FullTextBatch, readFrom view: ReadView
  ) throws(DatabaseError) -> Int {
    let count = batch.items.count
    guard count > 0 else { return 0 }
    defer { batch.removeAll() }
    let lists = batch.takeLists()
    var unchanged = UnchangedItems(batch, view)
    let first = try changing(&unchanged, batch) { (tree, batch, _) throws(PageError) in
      try batch.reserveNumbers(in: &tree)
    }
    for start in stride(from: 0, to: count, by: FullTextBuild.itemsPerSlice) {
      let range = start..<min(start + FullTextBuild.itemsPerSlice, count)
      try changing(&unchanged, batch) { (tree, batch, isKept) throws(PageError) in
        try batch.addItems(range, first: first, to: &tree) { isKept[$0] }
      }
    }
    for start in stride(from: 0, to: lists.count, by: FullTextBuild.termsPerSlice) {
      let slice = lists[start..<min(start + FullTextBuild.termsPerSlice, lists.count)]
      try changing(&unchanged, batch) { (tree, batch, isKept) throws(PageError) in
        try batch.add(slice, first: first, to: &tree) { isKept[$0] }
      }
    }
    return count
  }

  /// Changes the texts of the newest version, with the documents that have not changed since they
  /// were read.
  private func changing<R>(
    _ unchanged: inout UnchangedItems, _ batch: FullTextBatch,
    _ body: (inout LayeredTree, FullTextBatch, [Bool]) throws(PageError) -> R
  ) throws(DatabaseError) -> R {
    try store.withWriter { (writer) throws(DatabaseError) in
      try writer.newest.requireBuilding(definition, path: store.path)
      let newest = writer.view(of: store)
      try unchanged.update(batch, newest)
      let isKept = unchanged.isKept
      let (texts, result) = try newest.repairing { (version) throws(PageError) in
        var texts = version.state.texts
        let result = try body(&texts, batch, isKept)
        return (texts, result)
      }
      writer.changeNewest { $0.texts = texts }
      return result
    }
  }
}

/// Which documents of a batch have the revision that was read.
private struct UnchangedItems {
  private(set) var isKept: [Bool]
  /// The counter that shows whether anything has changed since.
  private var changesAndPurges: UInt64

  init(_ batch: FullTextBatch, _ view: ReadView) {
    isKept = Array(repeating: true, count: batch.items.count)
    changesAndPurges = view.state.changesAndPurges
  }

  mutating func update(_ batch: FullTextBatch, _ newest: ReadView) throws(DatabaseError) {
    guard newest.state.changesAndPurges != changesAndPurges else { return }
    changesAndPurges = newest.state.changesAndPurges
    for (index, item) in batch.items.enumerated() where isKept[index] {
      isKept[index] = try newest.newestEntry(item.id)?.revision == item.revision
    }
  }
}
