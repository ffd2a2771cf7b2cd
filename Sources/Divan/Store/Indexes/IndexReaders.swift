import Dispatch
import DivanLog
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Those who read the documents for an index that is being made, each with a thread and a batch of its own.
///
/// The thread that makes the index is one of them, and the one that is told how far it is. They take the order of changes in
/// turns, share by share. So it is the same document for which making the index fails, however many they are: all that comes
/// before it was given out before, and is read first.
///
/// `@unchecked Sendable`: `doneCount` and `progress` are touched by the maker's thread only; a reader's batch by the thread
/// that reads into it, and by the maker's while nobody reads; everything else guards itself.
final class IndexReaders: @unchecked Sendable {
  private let store: Store
  /// The thread that makes the index.
  private let maker = ThreadID.current
  /// Told the share that is done.
  private let progress: ((Double) -> Bool)?
  /// Of how many documents the entries were added.
  private var doneCount = 0
  /// About how many documents were read since.
  private let readCount = Atomic(0)
  private let readers: [IndexReader]
  private let common: Guarded<Common>

  /// What the readers take from, and have to say to each other.
  private struct Common {
    var shares: IndexShares
    /// Why nothing is given out any more, and for which document.
    var failure: (sequence: UInt64, error: DatabaseError)?
  }

  /// Begins before the first document.
  ///
  /// All of them together keep no more than `sizeLimit` bytes, and beyond that what the last document of each has.
  init(
    _ kept: KeptIndex, _ store: Store, sizeLimit: Int = 32 << 20, _ progress: ((Double) -> Bool)?
  ) throws(DatabaseError) {
    let view = try store.view()
    let count = store.indexReaderCount
    let limits = IndexBatch.Limits(
      documentCount: max(1, store.configuration.indexBatchSize / count), size: sizeLimit / count,
      progressInterval: max(1, IndexReaders.progressInterval / count))
    self.store = store
    self.progress = progress
    readers = (0..<count).map { _ in IndexReader(IndexBatch(kept, limits)) }
    common = Guarded(
      Common(shares: IndexShares(view, documentCount: count > 1 ? IndexShare.documentCount : nil)))
  }

  /// After about how many documents it is told how many were read.
  private static let progressInterval = 4096
}

/// One who reads, or rather what was read.
private final class IndexReader {
  var batch: IndexBatch

  init(_ batch: consuming IndexBatch) { self.batch = batch }
}

extension Store {
  /// How many threads read the documents for an index.
  ///
  /// One, where the same calls are wanted every time, and where there are too few documents to wake others for.
  fileprivate var indexReaderCount: Int {
    let most = max(1, configuration.indexBatchSize)
    if let count = configuration.indexReaderCount { return min(max(1, count), most) }
    guard configuration.maintenance == .background,
      commits.visible.state.documentCount >= IndexReaders.documentsWorthSeveral
    else { return 1 }
    return min(ProcessInfo.processInfo.activeProcessorCount, IndexReaders.countLimit, most)
  }
}

extension IndexReaders {
  /// From how many documents on there are several readers: to read fewer takes some milliseconds.
  fileprivate static let documentsWorthSeveral = 8192
  /// More are kept waiting by the memory, and by the one who adds what they have read.
  fileprivate static let countLimit = 4
}

extension IndexReaders {
  /// Whether no documents come after those that were read.
  var isAtEnd: Bool {
    common.withLock { $0.shares.isAtEnd } && readers.allSatisfy { $0.batch.share == nil }
  }

  /// Reads the documents behind those that were read before, as many as there is room for; what comes of them is then taken
  /// slice by slice with ``take(_:into:)``.
  func read(_ slice: inout IndexSlice) throws(DatabaseError) {
    let view = try store.view()
    slice.begin(view)
    common.withLock { $0.shares.move(to: view) }
    readCount.store(0, ordering: .relaxed)
    repeat {
      if readers.count == 1 {
        read(view, into: readers[0])
      } else {
        // Returns when all have ended. If no other thread is free, this one is all readers, one after the other.
        DispatchQueue.concurrentPerform(iterations: readers.count) {
          read(view, into: readers[$0])
        }
      }
      // Of what was given out before the document that failed, something may be left for want of room.
    } while hasFailed && readers.contains { isWanted($0) }
    if let failure = common.withLock({ $0.failure }) { throw failure.error }
  }

  /// Reads as one of the readers.
  private func read(_ view: StoreView, into reader: IndexReader) {
    guard isWanted(reader) else { return }
    do throws(DatabaseError) {
      try reader.batch.read(
        view, expectedCount: expectedCount(view), takeShare: takeShare, noteRead)
    } catch {
      fail(reader.batch.last, error)
    }
  }

  /// About how many documents one of them will read, and a few more, since they are not equally quick.
  private func expectedCount(_ view: StoreView) -> Int {
    let part = Int(clamping: view.state.documentCount) / readers.count
    return readers.count == 1 ? part : part + part / 8 + IndexShare.documentCount
  }

  /// Counts documents that were read, and tells of it on the maker's thread.
  private func noteRead(_ count: Int) throws(DatabaseError) {
    let count = readCount.add(count, ordering: .relaxed).newValue
    guard ThreadID.current == maker else { return }
    do throws(DatabaseError) {
      try tell(doneCount + count)
    } catch {
      // It is about no document, so nobody goes on for an earlier one.
      fail(0, error)
      throw error
    }
  }

  /// Tells that what was read is added.
  func tellAdded() throws(DatabaseError) {
    doneCount += readers.reduce(0) { $0 + $1.batch.documentCount }
    try tell(isAtEnd ? .max : doneCount)
  }

  private func tell(_ count: Int) throws(DatabaseError) {
    let total = max(1, Int(clamping: store.commits.visible.state.documentCount))
    guard progress?(min(1, Double(count) / Double(total))) ?? true else {
      throw DatabaseError(.cancelled, "making the index was cancelled", path: store.path)
    }
  }

  /// Takes the next share of the order of changes; nil if there is none, or no use in it.
  private func takeShare() -> IndexShare? {
    common.withLock { common in
      guard common.failure == nil else { return nil }
      do throws(DatabaseError) {
        return try common.shares.next()
      } catch {
        // All that was given out comes before.
        common.failure = (.max, error)
        return nil
      }
    }
  }

  /// Notes why making the index ends, unless it does because of an earlier document.
  private func fail(_ sequence: UInt64, _ error: DatabaseError) {
    common.withLock { common in
      if let failure = common.failure, failure.sequence <= sequence { return }
      common.failure = (sequence, error)
    }
  }

  private var hasFailed: Bool { common.withLock { $0.failure != nil } }

  /// Whether it makes a difference what a reader reads: once making the index has failed, only if it is to read what comes
  /// before that document.
  private func isWanted(_ reader: IndexReader) -> Bool {
    guard let failure = common.withLock({ $0.failure }) else { return true }
    return reader.batch.share.map { $0.start < failure.sequence } ?? false
  }

  /// Hands on the next entries of those that were read, in the order of their keys; returns whether there were any.
  ///
  /// Of those with the same key one comes: there are such only where the order of changes has a document twice.
  func take(_ limit: Int, into slice: inout IndexSlice) -> Bool {
    slice.removeEntries()
    for reader in readers { reader.batch.touchEntries(limit) }
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

  /// Which revision was read of the document of an entry that was handed on.
  func revision(_ origin: IndexSlice.Origin) -> RevisionID {
    readers[origin.reader].batch.revision(origin.source)
  }
}
