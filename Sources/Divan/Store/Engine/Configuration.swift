package import DivanLog

/// How far a commit has got when `write` returns.
///
/// ```swift
/// try database.write(durability: .none) { try $0.put(draft) }
/// try database.flush()  // Now a crash of the machine does not lose the draft.
/// ```
public enum Durability: Sendable, Equatable {
  /// The commit, and every name that is needed to find it, was flushed to the medium.
  ///
  /// That is as certain as the system's own report. Commits that wait at the same time share one
  /// flush.
  case full
  /// The commit was handed to the system, which flushes it within this time. A crash of the process
  /// loses nothing; a crash of the machine may lose the newest commits, never one in the middle.
  case relaxed(maxDelay: Duration)
  /// The commit was handed to the system, which flushes it when it likes, or when the store is
  /// flushed or closed.
  case none
}

/// How bytes that no longer change are read.
///
/// ```swift
/// configuration.readMode = .buffered
/// let database = try Database(at: path, configuration: configuration)
/// ```
public enum ReadMode: Sendable, Equatable {
  /// ``buffered`` on iOS, iPadOS, tvOS, watchOS and visionOS, and ``mapped`` on other systems.
  ///
  /// On these systems a file can become unreadable while it is open: when the device is locked, if
  /// its protection class says so. A mapped page of such a file ends the process.
  case automatic
  /// Through memory maps.
  ///
  /// An error of the medium while a page is fetched ends the process; the system leaves no choice.
  case mapped
  /// By copying them into memory. An error of the medium is thrown.
  case buffered

  /// Whether bytes are read through memory maps on this system.
  package var isMapped: Bool {
    switch self {
    case .mapped: return true
    case .buffered: return false
    case .automatic:
      #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
        return false
      #else
        return true
      #endif
    }
  }
}

/// How a database that is open for reading only follows the process that writes.
///
/// ```swift
/// configuration.isReadOnly = true
/// configuration.followsWriter = .automatically(every: .milliseconds(200))
/// let reader = try Database(at: path, configuration: configuration)
/// ```
public enum FollowPolicy: Sendable, Equatable {
  /// It shows the same version until ``Database/refresh()-3skwc`` is called.
  case manually
  /// It is refreshed whenever this time has passed.
  ///
  /// So a commit is seen at most this much later than its writer can read it, plus the time of
  /// reading it. While nothing is committed, a round costs one read of a small file and one call
  /// for the size of another. Some tenths of a second suit a user interface.
  case automatically(every: Duration)
}

/// How a store handles damage that is found when it is opened.
///
/// ```swift
/// configuration.damage = .salvage
/// let salvaged = try Database(at: path, configuration: configuration)
/// for error in salvaged.openingReport.damage { print(error) }
/// ```
///
/// If opening finds damage in the part of the log that it reads, the contents of the damaged part
/// are unknown. They may have been documents of which no other part has a revision, and newer
/// revisions and deletions of others. A document is known exactly if its newest record is after all
/// damage. A document that is not deleted is also known exactly if everything lost after its record
/// are new documents, as checksums and the number of documents prove.
///
/// Any other damage concerns only the document that it is in. Reading that one throws
/// ``DatabaseError/Code/damaged`` with either policy.
public enum DamagePolicy: Sendable, Equatable {
  /// Nothing uncertain is returned as certain.
  ///
  /// Opening for writing throws ``DatabaseError/Code/damaged``. Opening with
  /// ``Configuration/isReadOnly`` succeeds: documents that are known exactly are read, and
  /// everything else throws ``DatabaseError/Code/damaged``. That is every other document, whether
  /// it is found or not, and everything that involves several documents: counts, ranges, queries,
  /// views, changes, past versions.
  case reject
  /// Everything that exists is read, as if there were no damage.
  ///
  /// The store opens for reading only, even if you open it for writing. Every record with a valid
  /// checksum is read, also those of a transaction of which another part is lost. Documents may be
  /// missing, be older than they were, or have been deleted since. Only ``OpeningReport/damage``
  /// says where.
  case salvage
}

/// How a database is opened and how it behaves.
///
/// ```swift
/// var configuration = Configuration()
/// configuration.durability = .relaxed(maxDelay: .seconds(1))
/// configuration.history = HistoryRetention(revisions: 10)
/// let database = try Database(at: path, configuration: configuration)
/// ```
public struct Configuration: Sendable {
  /// How far a commit has got when `write` returns, unless the call says otherwise.
  public var durability: Durability = .full
  /// How bytes that no longer change are read.
  public var readMode: ReadMode = .automatic
  /// Whether the store is opened without a lock and without writing anything.
  ///
  /// Another process may have it open for writing. Readers see the latest whole commit at the time
  /// of opening, or of the last refresh: ``followsWriter``. The content of attachments that have
  /// files of their own is not retained: a writer that removes the last reference to one deletes
  /// its file, however many readers use the version before. Reading it then throws
  /// ``DatabaseError/Code/notFound``, and ``Database/check(progress:)-7cjfz`` counts it in
  /// ``CheckReport/removedAttachmentCount``. Everything else of the version stays.
  public var isReadOnly = false
  /// How a read-only database follows the process that writes; without effect on others.
  ///
  /// By default you call ``Database/refresh()-3skwc``.
  public var followsWriter = FollowPolicy.manually
  /// Whether new files are private to the owner: files get the mode `0600`, and directories `0700`.
  ///
  /// Otherwise they get `0666` and `0777` less the process's mask (`umask`), as for a store that a
  /// group shares. Existing files keep their mode. Any user who may read `LOCK` can hold its lock,
  /// and so keep others from opening the store for writing.
  public var isPrivate = true
  /// How damage that is found at opening is handled.
  ///
  /// By default nothing uncertain is returned as certain.
  public var damage = DamagePolicy.reject
  /// The greatest size of one transaction in the log, in bytes; at most 1 GiB.
  public var transactionSizeLimit = 256 << 20
  /// The number of revisions of a document that are known by their IDs: 1 to 10,000.
  ///
  /// The newest one counts. Each costs 16 bytes in every record of the document. Two stores that
  /// exchange revisions should have the same depth, which must be greater than the number of edits
  /// of one document between two exchanges. If a history is cut too short to meet the other
  /// store's, the document gets a second tree, and a conflict that no user made. Twenty is enough
  /// for people's edits between two exchanges, at 300 bytes a record; CouchDB keeps 1,000. Choose
  /// as many for counters and other documents that programs change all the time.
  public var revisionDepth = 20
  /// How much superseded data is kept, so that past versions can be read; by default nothing.
  ///
  /// You can change it at each opening. Versions that were not kept do not come back. Space of
  /// versions that are no longer to be kept is given back in time.
  public var history = HistoryRetention.disabled
  /// The memory limit of the predicate cache, in bytes; 0 disables it.
  ///
  /// The cache stores the results of query filters per document. A repeated filter then reads
  /// only the documents that have changed since, and those that it accepts if the query returns
  /// them. The cache takes two bits for each document and filter; the least recently used filter
  /// goes first.
  public var predicateCacheSize = 8 << 20
  /// Generates the IDs of documents that are stored without one.
  public var documentIDs = DocumentIDGenerator.timeOrdered
  /// Returns the time, in milliseconds since 1970, that commits and files are stamped with.
  ///
  /// The default is the system's clock; tests replace it. A clock that steps back does no harm: no
  /// commit is stamped earlier than the one before it.
  public var now: @Sendable () -> UInt64 = { systemTime() }
  /// Called with the progress of opening, between 0 and 1.
  ///
  /// If it throws, opening stops with that error.
  public var openingProgress: (@Sendable (Double) throws -> Void)?
  /// Receives the events of the database, for the program's log; by default none does.
  ///
  /// ```swift
  /// configuration.eventHandler = .standardError()
  /// ```
  ///
  /// Without a handler no event is made. See <doc:EventsAndMetrics>.
  public var eventHandler: DatabaseEvent.Handler?
  /// The time from which a query is reported to ``eventHandler``; nil reports none.
  ///
  /// It includes the planning, and what the call does with each result, such as decoding its
  /// properties for an aggregate.
  public var slowQueryThreshold: Duration? = .milliseconds(100)
  /// The time from which a transaction is reported to ``eventHandler``; nil reports none.
  ///
  /// It includes the waits for other transactions and for the flush, and the transaction's closure.
  public var slowCommitThreshold: Duration? = .milliseconds(500)

  // For tests and tools.

  /// The size in bytes at which a segment gets a successor.
  package var segmentSizeGoal = 64 << 20
  /// The greatest size of a compacted segment, in bytes.
  package var compactedSegmentSizeLimit = 256 << 20
  /// The bytes of log after the last checkpoint at which a new checkpoint is written.
  package var checkpointInterval = 24 << 20
  /// Whether maintenance runs automatically, and where.
  package var maintenance = MaintenanceMode.background
  /// Whether expired documents are purged in the background.
  package var purgesExpired = true
  /// Whether unique indexes are checked at the end of each transaction.
  ///
  /// A copy of earlier versions does not: an index may be newer than they are.
  package var checksUniqueness = true
  /// Overrides the file system.
  package var fileSystem: (any FileSystem)?
  /// The cipher that the store is encrypted with, and its keys; nil if it is not encrypted.
  package var cipher: (any Cipher)?
  /// The source of randomness for salts and store IDs.
  package var random: @Sendable () -> UInt64 = { UInt64.random(in: 1 ... .max) }
  /// The size of the pages of the index in memory, for tests that want many of them.
  package var nodeSize = BTree.defaultPageSize
  /// How many sequence numbers are reserved ahead, so that not every commit needs to do it.
  package var sequenceReserve: UInt64 = 1 << 16
  /// The bytes of log since the last flush of `FLUSHED` or `HEAD` at which `FLUSHED` is flushed.
  package var unwitnessedLimit = 1 << 20
  /// The size of the file that is released when the disk is full.
  package var reserveSize = 1 << 20
  /// The greatest size in bytes of an attachment in the log; larger ones get files of their own.
  package var attachmentInlineLimit = AttachmentRecord.inlineSizeLimit

  /// The number of branches of a document at which no more are added.
  package var branchLimit = DocumentLimits.branches
  /// The number of documents mapped since the last save above which the rows of a view are saved.
  ///
  /// They are written to the view's file when more documents than this were mapped, and a quarter
  /// as many as there are rows; at closing, a tenth of this and a sixteenth.
  package var viewSavingMinimum = 1000
  /// The number of documents that are read at most while an index is built, before they are added.
  package var indexBuildBatchSize = 1 << 20
  /// The number of threads that read them, the caller's among them.
  ///
  /// By default as many as the machine has processors and the store is large enough for, and one if
  /// tests need the same calls every time.
  package var indexBuildWorkerCount: Int?

  /// The size of the memtables in bytes at which building an index writes a checkpoint.
  ///
  /// Commits have theirs at ``checkpointInterval``. An index has no records in the log.
  package var memtableSizeLimit = 128 << 20

  package enum MaintenanceMode: Sendable {
    /// On a queue of its own.
    case background
    /// Within the commit that makes it due, for tests that must see the same calls every time.
    case inline
    /// Only on request.
    case manual
  }

  /// Creates the default configuration.
  public init() {}
}

extension Configuration {
  /// The file system that the store uses: the override, or the default.
  var usedFileSystem: any FileSystem { fileSystem ?? POSIXFileSystem(isPrivate: isPrivate) }

  /// Makes files small, so that tests reach soon what large stores reach late.
  package mutating func setFilesSmallForTests() {
    segmentSizeGoal = 64 << 10
    compactedSegmentSizeLimit = 512 << 10
    checkpointInterval = 32 << 10
  }
}
