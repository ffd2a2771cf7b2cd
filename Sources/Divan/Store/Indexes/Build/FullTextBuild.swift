import Dispatch
import DivanLog

/// Fills a full-text index with the terms of existing documents.
///
/// Several threads read documents and make their terms, each in a batch of its own. Then the building
/// thread adds the batches one after the other, in slices. Other writers write between them, and add
/// the documents that they change. So a document that has changed since it was read is left out.
struct FullTextBuild {
  private let store: Store
  private let definition: IndexDefinition
  private let progress: ((Double) -> Bool)?
  private let readers: [Reader]
  private let common: Guarded<Common>

  /// The state that the readers share.
  private struct Common {
    var partitions: SequencePartitioner
    /// The error that stops the build, and the sequence number of its document.
    var failure: (sequence: UInt64, error: DatabaseError)?
  }

  /// The documents and terms that are added before other writers get the writer lock.
  private static let itemsPerSlice = 1024
  private static let termsPerSlice = 512

  init(
    _ definition: IndexDefinition, _ batch: FullTextBatch, _ store: Store,
    _ progress: ((Double) -> Bool)?
  ) throws(DatabaseError) {
    self.store = store
    self.definition = definition
    self.progress = progress
    readers = (0..<store.indexBuildWorkerCount).map { _ in Reader(batch) }
    common = Guarded(
      Common(
        partitions: SequencePartitioner(
          try store.view(), documentCount: SequencePartition.documentCount)))
  }

  /// A reader's batch, by reference.
  private final class Reader: Sendable {
    private let guarded: Guarded<FullTextBatch>

    init(_ batch: FullTextBatch) { guarded = Guarded(batch) }

    func withBatch<R>(
      _ body: (inout FullTextBatch) throws(DatabaseError) -> R
    ) throws(DatabaseError) -> R {
      try guarded.withLock(body)
    }
  }
}

extension FullTextBuild {
  /// Reads and adds all documents.
  func run() throws(DatabaseError) {
    var doneCount = 0
    while !common.withLock({ $0.partitions.isAtEnd }) {
      let view = try store.view()
      common.withLock { $0.partitions.move(to: view) }
      if readers.count == 1 {
        read(view, into: readers[0])
      } else {
        DispatchQueue.concurrentPerform(iterations: readers.count) { read(view, into: readers[$0]) }
      }
      if let failure = common.withLock({ $0.failure }) { throw failure.error }
      for reader in readers {
        doneCount += try reader.withBatch { (batch) throws(DatabaseError) in
          try add(&batch, readFrom: view)
        }
        try report(doneCount)
      }
    }
  }

  private func report(_ count: Int) throws(DatabaseError) {
    let total = max(1, Int(clamping: store.commits.visible?.state.documentCount ?? 0))
    guard progress?(min(1, Double(count) / Double(total))) ?? true else {
      throw DatabaseError(.cancelled, "building the index was cancelled", path: store.path)
    }
  }

  /// Reads partitions until the batch has its share of the memory.
  private func read(_ view: ReadView, into reader: Reader) {
    var last: UInt64 = 0
    do throws(DatabaseError) {
      try reader.withBatch { (batch) throws(DatabaseError) in
        while batch.size < FullTextBatch.sizeLimit / readers.count,
          let partition = try takePartition()
        {
          var scan = partition.scan(view)
          while let item = try view.step(&scan) {
            last = SequencePartition.sequence(item) ?? last
            let (location, record) = try view.changedDocument(last, at: view.decodeLocator(item))
            guard !location.isDeleted, let record else { continue }
            batch.add(record.idBytes, EncodedValue(record.body), revision: record.revision)
          }
        }
      }
    } catch {
      common.withLock { common in
        if let failure = common.failure, failure.sequence <= last { return }
        common.failure = (last, error)
      }
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
