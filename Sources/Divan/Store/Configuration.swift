package import DivanLog

/// How far a commit has got when `write` returns.
public enum Durability: Sendable, Equatable {
  /// The commit, and every name that is needed to find it, was flushed to the medium as far as the
  /// system can tell. Commits that wait at the same time share one flush.
  case full
  /// The commit was handed to the system, which flushes it within this time. A crash of the process
  /// loses nothing; a crash of the machine may lose the newest commits, never one in the middle.
  case relaxed(maxDelay: Duration)
  /// The commit was handed to the system, which flushes it when it likes, or when the store is
  /// flushed or closed.
  case none
}

/// How bytes are read that will not change any more.
public enum ReadMode: Sendable, Equatable {
  /// Through memory maps. An error of the medium while a page is fetched ends the process, as the
  /// system has it.
  case mapped
  /// By copying them into memory. An error of the medium is thrown.
  case buffered
}

/// What is done about damage that opening a store finds.
///
/// Damage in what opening reads of the log leaves unknown what the damaged part said: it may have held
/// documents that are nowhere else, and newer revisions and deletions of others. A document is known
/// exactly if its newest record stands behind all damage; and if it is not deleted, also if all that is
/// lost behind its record are new documents, as checksums and the number of documents prove.
///
/// Damage elsewhere concerns only the document that it is in. Reading that one throws
/// ``DatabaseError/Code/damaged`` whatever is chosen here.
public enum DamagePolicy: Sendable, Equatable {
  /// Nothing that is uncertain is passed off as certain.
  ///
  /// Opening for writing throws ``DatabaseError/Code/damaged``. Opening with
  /// ``Configuration/isReadOnly`` succeeds: documents that are known exactly are read, and what cannot
  /// be known throws ``DatabaseError/Code/damaged``. That is every other document, whether it is found or
  /// not, and all that speaks of several: counts, ranges, queries, views, changes, past versions.
  case refuse
  /// Everything is read that is there, as if nothing else had been.
  ///
  /// The store opens for reading only, even if writing was asked for. Every record is read whose
  /// checksum holds, also those of a transaction of which another part is lost. Documents may be
  /// missing, be older than they were, or have been deleted since; ``OpeningReport/damage`` says
  /// where, and nothing else does.
  case readWhatIsThere
}

/// How a database is opened and how it behaves.
public struct Configuration: Sendable {
  /// How far a commit has got when `write` returns, unless the call says otherwise.
  public var durability: Durability = .full
  /// How bytes are read that will not change any more.
  public var reads: ReadMode = .mapped
  /// Opens the store without lock and without writing anything; it may be open for writing elsewhere.
  ///
  /// What is read is the latest whole commit at the time of opening, and stays so. The content of attachments that have
  /// files of their own is not kept: a writer that takes the last reference to one away deletes its file, however many
  /// read the version before. Reading it throws ``DatabaseError/Code/notFound`` then, and ``Database/check(progress:)``
  /// counts it in ``CheckReport/removedAttachmentCount``; all else of the version stays.
  public var isReadOnly = false
  /// Whether what is made is for the owner alone: files get the mode `0600`, and directories `0700`.
  ///
  /// Otherwise they get what the process's mask (`umask`) leaves of `0666` and `0777`, as for a store that a group
  /// shares. What is there already keeps its mode.
  public var isPrivate = true
  /// What is done about damage that opening finds; nothing is passed off as certain, unless this says
  /// otherwise.
  public var damage = DamagePolicy.refuse
  /// The greatest size of one transaction in the log, in bytes; at most 1 GiB.
  public var transactionSizeLimit = 256 << 20
  /// How many revisions of a document's history are known by their IDs, the newest included: 1 to
  /// 10,000.
  ///
  /// Each costs 16 bytes in every record of the document. Two stores that exchange revisions should
  /// have the same depth, which must be greater than the number of edits of one document between two exchanges:
  /// where a history is cut too short to meet what the other store has, the document gets a second tree, and a
  /// conflict that nobody made. Twenty is enough for people's edits between two exchanges, at 300 bytes a record; CouchDB
  /// keeps 1,000. Choose as many for counters and other documents that programs change all the time.
  public var revisionDepth = 20
  /// How much is kept of what is replaced, so that past versions can be read: nothing, unless this
  /// says otherwise.
  ///
  /// It may be another at each opening. What was not kept does not come back; what is not to be kept any
  /// more is given back in time.
  public var history = HistoryRetention.none
  /// How many bytes of memory may be taken to remember what queries have found out of documents; none at 0.
  ///
  /// A filter that is asked again then reads only the documents that have changed since, and those that it accepts if they are
  /// wanted. So does a filter that was never asked before, if others have looked at the same properties, and these have few
  /// values. It takes two bits for each document and filter, and a byte for each document and property; what was not asked for
  /// longest goes first.
  public var filterMemorySize = 8 << 20
  /// Makes the IDs of documents that are stored without one.
  public var documentIDs = DocumentIDGenerator.timeOrdered
  /// Tells the time, in milliseconds since 1970, with which commits and files are stamped.
  ///
  /// The system's clock, unless a test needs another. A clock that steps back is no harm: no commit is
  /// stamped earlier than the one before it.
  public var now: @Sendable () -> UInt64 = { systemTime() }
  /// Told how far the opening is, between 0 and 1; opening stops with ``DatabaseError/Code/cancelled``
  /// when it returns false.
  public var openingProgress: (@Sendable (Double) -> Bool)?

  // What tests and tools set.

  /// A segment gets a successor once it has grown to this many bytes.
  package var segmentSizeGoal = 64 << 20
  /// Merged segments are not made larger than this.
  package var mergedSizeLimit = 256 << 20
  /// A checkpoint is written when this many bytes of log lie behind the last one.
  package var checkpointInterval = 24 << 20
  /// Whether checkpoints and cleaning run by themselves, and where.
  package var maintenance = MaintenanceMode.background
  /// Whether documents are purged in the background when they have expired.
  package var purgesExpired = true
  /// Overrides the file system.
  package var fileSystem: (any FileSystem)?
  /// What salts and store IDs are drawn from.
  package var random: @Sendable () -> UInt64 = { UInt64.random(in: 1 ... .max) }
  /// Size of the pages of the index in memory, for tests that want many of them.
  package var nodeSize = BTree.defaultPageSize
  /// How many sequence numbers are reserved ahead, so that not every commit needs to do it.
  package var sequenceReserve: UInt64 = 1 << 16
  /// `FLUSHED` is flushed once this many bytes of log were since it or `HEAD` was.
  package var unwitnessedLimit = 1 << 20
  /// The size of the file that is released when the disk is full.
  package var reserveSize = 1 << 20
  /// Attachments up to this many bytes stand in the log; larger ones get files of their own.
  package var attachmentInlineLimit = AttachmentRecord.inlineSizeLimit

  /// How many branches a document may have before none is added.
  package var branchLimit = DocumentLimits.branches
  /// The rows of a view are written to its file when more documents than this were mapped since, and a quarter as many
  /// as there are rows; at closing, a tenth of this and a sixteenth.
  package var viewSavingMinimum = 1000
  /// How many documents are read at most while an index is made, before they are added.
  package var indexBatchSize = 1 << 20
  /// How many threads read them, the caller's among them; unless it is said here, as many as the machine has processors and
  /// the store is large enough for, and one where the same calls are wanted every time.
  package var indexReaderCount: Int?

  package enum MaintenanceMode: Sendable {
    /// On a queue of its own.
    case background
    /// Within the commit that makes it due, for tests that must see the same calls every time.
    case inline
    /// Only when asked for.
    case manual
  }

  /// The usual configuration.
  public init() {}
}

extension Configuration {
  /// Where a store is, unless something overrides that.
  var usedFileSystem: any FileSystem { fileSystem ?? POSIXFileSystem(isPrivate: isPrivate) }

  /// Makes files so small that everything that happens to large stores happens soon.
  package mutating func setFilesSmallForTests() {
    segmentSizeGoal = 64 << 10
    mergedSizeLimit = 512 << 10
    checkpointInterval = 32 << 10
  }
}
