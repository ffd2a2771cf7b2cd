import Dispatch
import DivanLog
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The readers of documents for an index that is being built, each with its own thread and batch.
///
/// The building thread is one of them, and the only one that reports progress. The readers take
/// partitions in the order of changes. So the build fails at the same document with any number of
/// readers: everything before it was handed out earlier, and is read first.
///
/// `@unchecked Sendable`: `doneCount` and `progress` are accessed only by the building thread. A
/// reader's batch is accessed by the thread that reads into it, and by the building thread while no
/// reader runs. Everything else is synchronized by itself.
final class IndexBuildWorkers: @unchecked Sendable {
  private let store: Store
  /// The thread that builds the index.
  private let builder = ThreadID.current
  /// The handler that receives the completed share.
  private let progress: ((Double) -> Bool)?
  /// The number of documents whose entries were added.
  private var doneCount = 0
  /// The approximate number of documents read since.
  private let readCount = Atomic(0)
  private let readers: [IndexBuildWorker]
  private let common: Guarded<Common>

  /// The state that the readers share.
  private struct Common {
    var partitions: SequencePartitioner
    /// The error that stops the build, and the sequence number of its document.
    var failure: (sequence: UInt64, error: DatabaseError)?
  }

  /// Begins before the first document.
  ///
  /// All readers together keep at most `sizeLimit` bytes, plus the entries of the last document of
  /// each.
  init(
    _ definition: IndexDefinition, _ store: Store, sizeLimit: Int = 32 << 20,
    _ progress: ((Double) -> Bool)?
  ) throws(DatabaseError) {
    let view = try store.view()
    let count = store.indexBuildWorkerCount
    let limits = IndexBuildBatch.Limits(
      documentCount: max(1, store.configuration.indexBuildBatchSize / count),
      size: sizeLimit / count,
      progressInterval: max(1, IndexBuildWorkers.progressInterval / count))
    self.store = store
    self.progress = progress
    readers = (0..<count).map { _ in IndexBuildWorker(IndexBuildBatch(definition, limits)) }
    common = Guarded(
      Common(
        partitions: SequencePartitioner(
          view, documentCount: count > 1 ? SequencePartition.documentCount : nil)))
  }

  /// The approximate number of documents between two progress reports.
  private static let progressInterval = 4096
}

/// A reader's batch, by reference.
private final class IndexBuildWorker {
  var batch: IndexBuildBatch

  init(_ batch: consuming IndexBuildBatch) { self.batch = batch }
}

extension IndexBuildWorkers {
  /// The minimum number of documents for several readers: reading fewer takes some milliseconds.
  static let documentsWorthSeveral = 8192
  /// More readers would wait for memory, and for the thread that adds their entries.
  static let countLimit = 4
}

extension IndexBuildWorkers {
  /// Whether all documents were read.
  var isAtEnd: Bool {
    common.withLock { $0.partitions.isAtEnd } && readers.allSatisfy { $0.batch.partition == nil }
  }

  /// Reads the next documents, as many as there is room for.
  ///
  /// Take the resulting entries slice by slice with ``take(_:into:)``.
  func read(_ slice: inout IndexBuildSlice) throws(DatabaseError) {
    let view = try store.view()
    slice.begin(view)
    common.withLock { $0.partitions.move(to: view) }
    readCount.store(0, ordering: .relaxed)
    repeat {
      if readers.count == 1 {
        read(view, into: readers[0])
      } else {
        // Returns when all have ended. Without another free thread, this one runs all readers, one
        // after the other.
        DispatchQueue.concurrentPerform(iterations: readers.count) {
          read(view, into: readers[$0])
        }
      }
      // For lack of room, a partition handed out before the failing document may not be read
      // completely.
    } while hasFailed && readers.contains { isWanted($0) }
    if let failure = common.withLock({ $0.failure }) { throw failure.error }
  }

  /// Runs one of the readers.
  private func read(_ view: ReadView, into reader: IndexBuildWorker) {
    guard isWanted(reader) else { return }
    do throws(DatabaseError) {
      try reader.batch.read(
        view, expectedCount: expectedCount(view), takePartition: takePartition, noteRead)
    } catch {
      fail(reader.batch.last, error)
    }
  }

  /// Estimates the number of documents for one reader, plus some, because readers differ in speed.
  private func expectedCount(_ view: ReadView) -> Int {
    let part = Int(clamping: view.state.documentCount) / readers.count
    return readers.count == 1 ? part : part + part / 8 + SequencePartition.documentCount
  }

  /// Counts documents that were read, and reports progress on the building thread.
  private func noteRead(_ count: Int) throws(DatabaseError) {
    let count = readCount.add(count, ordering: .relaxed).newValue
    guard ThreadID.current == builder else { return }
    do throws(DatabaseError) {
      try report(doneCount + count)
    } catch {
      // Cancellation concerns no document, so no reader continues for an earlier one.
      fail(0, error)
      throw error
    }
  }

  /// Reports that the entries read were added.
  func reportAdded() throws(DatabaseError) {
    doneCount += readers.reduce(0) { $0 + $1.batch.documentCount }
    try report(isAtEnd ? .max : doneCount)
  }

  private func report(_ count: Int) throws(DatabaseError) {
    let total = max(1, Int(clamping: store.commits.visible?.state.documentCount ?? 0))
    guard progress?(min(1, Double(count) / Double(total))) ?? true else {
      throw DatabaseError(.cancelled, "building the index was cancelled", path: store.path)
    }
  }

  /// Returns the next partition; nil if there is none, or the build has failed.
  private func takePartition() -> SequencePartition? {
    common.withLock { common in
      guard common.failure == nil else { return nil }
      do throws(DatabaseError) {
        return try common.partitions.next()
      } catch {
        // All partitions that were handed out come before.
        common.failure = (.max, error)
        return nil
      }
    }
  }

  /// Records the error that ends the build, unless one for an earlier document is recorded.
  private func fail(_ sequence: UInt64, _ error: DatabaseError) {
    common.withLock { common in
      if let failure = common.failure, failure.sequence <= sequence { return }
      common.failure = (sequence, error)
    }
  }

  private var hasFailed: Bool { common.withLock { $0.failure != nil } }

  /// Whether a reader must continue: after a failure, only with documents before that one.
  private func isWanted(_ reader: IndexBuildWorker) -> Bool {
    guard let failure = common.withLock({ $0.failure }) else { return true }
    return reader.batch.partition.map { $0.start < failure.sequence } ?? false
  }

  /// Moves the next entries read to a slice, in key order; returns whether there were any.
  ///
  /// Of entries with the same key only one is kept. They occur only if the sequence tree has a
  /// document twice.
  func take(_ limit: Int, into slice: inout IndexBuildSlice) -> Bool {
    slice.removeEntries()
    for reader in readers { reader.batch.prefetchEntries(limit) }
    while slice.count < limit {
      var first: Int?
      for number in readers.indices where readers[number].batch.hasEntry {
        guard let other = first else {
          first = number
          continue
        }
        let order = readers[number].batch.order(against: readers[other].batch)
        if order == 0 { readers[number].batch.dropEntry() }
        if order < 0 { first = number }
      }
      guard let first else { break }
      readers[first].batch.takeEntry(into: &slice, reader: first)
    }
    return slice.count > 0
  }

  /// Returns the sequence number that an entry's document had when it was read.
  func sequence(_ origin: IndexBuildSlice.Origin) -> UInt64 {
    readers[origin.reader].batch.sequence(origin.source)
  }
}
