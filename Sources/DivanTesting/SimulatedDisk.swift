package import DivanLog
import Synchronization

/// A disk in memory that fails on request, and loses unflushed changes.
///
/// Give it to a database in a test, let it lose power or fail in the middle of the work, start it
/// again, and check that the data that your program relies on is still there:
///
/// ```swift
/// let disk = SimulatedDisk(seed: 1)
/// disk.losePower(atCall: 20)
/// // … work with a database on `disk`, which throws from some point on …
/// let after = disk.restarted(.random(seed: 7))
/// // … open the database on `after` and check it …
/// ```
///
/// Everything that happens follows from the seeds and the calls. Used from one thread, the same
/// test does the same every time, which ``traceHash`` shows.
public final class SimulatedDisk: Sendable {
  package let files: SimulatedFileSystem
  /// The clock of the databases on this disk: see ``configuration(_:hasSmallFiles:)``.
  public let clock: SimulatedClock
  /// The random numbers of the databases on this disk.
  let random: Guarded<SeededGenerator>
  /// The history of the disk, for the description of a failure.
  private let history: String

  /// Creates an empty disk.
  ///
  /// - Parameters:
  ///   - seed: decides how much of a failing write is written, and the random numbers of the
  ///     databases on this disk.
  ///   - capacityBytes: the limit of the total size of the files; nil for no limit.
  ///   - clock: the clock of the databases on this disk.
  public convenience init(
    seed: UInt64 = 0, capacityBytes: Int? = nil, clock: SimulatedClock = SimulatedClock()
  ) {
    let files = SimulatedFileSystem(seed: seed)
    files.capacityBytes = capacityBytes
    self.init(
      files, clock: clock, random: SeededGenerator(seed: seed),
      history: "a simulated disk of seed \(seed)")
  }

  init(
    _ files: SimulatedFileSystem, clock: SimulatedClock, random: SeededGenerator, history: String
  ) {
    self.files = files
    self.clock = clock
    self.random = Guarded(random)
    self.history = history
  }

  /// Returns a disk with other files that continues as this one would.
  func successor(_ files: SimulatedFileSystem, _ event: String) -> SimulatedDisk {
    SimulatedDisk(
      files, clock: clock.copy(), random: random.withLock { $0 },
      history: event.isEmpty ? history : history + ", " + event)
  }

  /// The file system for the engine.
  package var fileSystem: any FileSystem { files }
}

// MARK: Faults

extension SimulatedDisk {
  /// The operations on a disk that the engine uses.
  ///
  /// ```swift
  /// for verb in SimulatedDisk.Verb.allCases where verb.isChanging {
  ///   disk.fail(verb, with: .noSpace)
  /// }
  /// ```
  public enum Verb: String, CaseIterable, Sendable {
    /// Opens a file that exists.
    case open
    /// Makes a file.
    case create
    /// Reads from a file.
    case read
    /// Writes to a file.
    case write
    /// Reads a file's size.
    case size
    /// Maps a file into memory.
    case map
    /// Flushes a file.
    case flush
    /// Closes a file.
    case close
    /// Renames a file or directory.
    case rename
    /// Gives a file a second name.
    case link
    /// Removes a file.
    case remove
    /// Makes a directory.
    case makeDirectory
    /// Removes a directory.
    case removeDirectory
    /// Lists a directory.
    case list
    /// Reads the status at a path.
    case status
    /// Flushes a directory.
    case flushDirectory
    /// Reads a path without links and detours.
    case canonicalPath
    /// Takes a lock.
    case lock

    /// Whether such a call counts for ``SimulatedDisk/losePower(atCall:)``.
    public var isChanging: Bool {
      switch self {
      case .open, .read, .size, .map, .close, .list, .status, .canonicalPath: false
      case .create, .write, .flush, .rename, .link, .remove, .makeDirectory, .removeDirectory,
        .flushDirectory, .lock:
        true
      }
    }
  }

  /// The error of a failing call.
  ///
  /// ```swift
  /// disk.fail(.write, with: .inputOutput, isLasting: true)
  /// #expect(throws: DatabaseError.self) { try database.write { _ = try $0.put(note) } }
  /// disk.stopFailing()
  /// ```
  public enum Failure: CaseIterable, Hashable, Sendable {
    /// The medium failed (`EIO`).
    case inputOutput
    /// No space is left (`ENOSPC`).
    case noSpace
    /// The user's quota is used up (`EDQUOT`).
    case quotaExceeded
    /// Access is refused (`EACCES`).
    case noAccess
    /// The operation is not permitted (`EPERM`).
    case notPermitted
    /// Too many files are open in this process (`EMFILE`).
    case tooManyOpenFiles
    /// Too many files are open on this machine (`ENFILE`).
    case tooManyOpenFilesInSystem
    /// The medium can be read only (`EROFS`).
    case readOnly
    /// A signal arrived, and the call was not repeated (`EINTR`).
    case interrupted
    /// The file is gone from its server (`ESTALE`).
    case staleHandle
    /// The file is missing, although it existed before (`ENOENT`).
    case notFound
    /// The system has no memory for the operation (`ENOMEM`).
    case outOfMemory

    package var code: SystemError.Code {
      switch self {
      case .inputOutput: .inputOutput
      case .noSpace: .noSpace
      case .quotaExceeded: .quotaExceeded
      case .noAccess: .noAccess
      case .notPermitted: .notPermitted
      case .tooManyOpenFiles: .tooManyOpenFiles
      case .tooManyOpenFilesInSystem: .tooManyOpenFilesInSystem
      case .readOnly: .readOnlyFileSystem
      case .interrupted: .interrupted
      case .staleHandle: .staleHandle
      case .notFound: .notFound
      case .outOfMemory: .outOfMemory
      }
    }
  }

  /// How much of its work a failing call does.
  ///
  /// ```swift
  /// // The document is on the disk, although the write says that it failed.
  /// disk.fail(.write, with: .inputOutput, completion: .everything)
  /// ```
  public enum Completion: CaseIterable, Hashable, Sendable {
    /// Nothing.
    case nothing
    /// Some of the bytes of a write, and nothing of any other call.
    case part
    /// Everything: only the error is wrong, as when an answer is lost on the way.
    case everything
  }

  /// The behaviour of a system that failed to flush a file.
  ///
  /// In each case except the first two, the bytes never reach the disk.
  ///
  /// ```swift
  /// disk.failFlush(.keepsNewBytes)
  /// #expect(throws: DatabaseError.self) { try database.write { _ = try $0.put(note) } }
  /// ```
  public enum FailedFlush: Hashable, Sendable {
    /// Nothing happened, and the next flush may well succeed.
    case staysDirty
    /// The bytes are on the disk, and only the error is wrong.
    case takesEffect
    /// The error is reported once. Reads return the new bytes until the power is lost.
    case keepsNewBytes
    /// After so many more calls, reads return the old bytes again, or zeros past the old end.
    case revertsToOldBytes(afterCalls: Int)
    /// This flush reports success; the next flush of the same file reports the error.
    case reportsAtNextFlush
    /// This flush reports success; the file's next write, flush or closing reports the error.
    case reportsAtNextCall
  }

  /// A false success that a disk reports.
  ///
  /// ```swift
  /// disk.lie(.ignoredFlush, isLasting: true)
  /// try database.write { try $0.put(note) }
  /// let count = disk.unflushedChangeCount  // above 0: the write was not flushed
  /// ```
  ///
  /// Reads return the requested bytes, as the page cache has them, until the power is lost or the
  /// cache evicts them.
  public enum Lie: Hashable, Sendable {
    /// A write never reaches the disk, not even by a flush.
    case lostWrite
    /// A write overwrites existing bytes at another location: in the same file if `path` is nil.
    case misdirectedWrite(path: String?, offset: Int)
    /// A flush of a file leaves everything as volatile as it was.
    case ignoredFlush
    /// A flush of a directory leaves its names as volatile as they were.
    case ignoredDirectoryFlush

    var verb: Verb {
      switch self {
      case .lostWrite, .misdirectedWrite: .write
      case .ignoredFlush: .flush
      case .ignoredDirectoryFlush: .flushDirectory
      }
    }
  }

  /// Makes the `call`-th call from now fail, counted from 1 over all calls or the calls of one
  /// verb.
  ///
  /// - Parameters:
  ///   - verb: the calls that count; all if nil.
  ///   - call: the number of the call that fails.
  ///   - failure: its error.
  ///   - completion: how much of its work it does nevertheless.
  ///   - isLasting: whether every later one fails, too.
  public func fail(
    _ verb: Verb? = nil, atCall call: Int = 1, with failure: Failure,
    completion: Completion = .part, isLasting: Bool = false
  ) {
    files.fail(
      verb, atCall: call, with: failure.code, completion: completion, isLasting: isLasting)
  }

  /// Makes the `call`-th flush of a file from now fail, counted from 1, in a certain way.
  public func failFlush(
    atCall call: Int = 1, _ behavior: FailedFlush, isLasting: Bool = false
  ) {
    files.failFlush(atCall: call, behavior, isLasting: isLasting)
  }

  /// Makes the `call`-th call of a kind from now, counted from 1, report a false success.
  ///
  /// The calls of a kind are the writes, the flushes of files or the flushes of directories.
  ///
  /// - Parameters:
  ///   - lie: the false success, which also decides the kind.
  ///   - call: the number of the call.
  ///   - isLasting: whether every later one does so, too.
  ///   - forgottenAfterCalls: the number of further calls after which reads return the bytes on
  ///     the disk; if nil, they do so only when the power is lost.
  public func lie(
    _ lie: Lie, atCall call: Int = 1, isLasting: Bool = false, forgottenAfterCalls: Int? = nil
  ) {
    files.lie(
      lie, atCall: call, isLasting: isLasting, forgottenAfterCalls: forgottenAfterCalls)
  }

  /// Removes all planned faults.
  public func stopFailing() { files.stopFailing() }

  /// The limit of the total size of the files, in bytes; nil for no limit.
  public var capacityBytes: Int? {
    get { files.capacityBytes }
    set { files.capacityBytes = newValue }
  }

  /// The total size of the files, in bytes.
  public var usedBytes: Int { files.usedBytes }
}

// MARK: Evidence

extension SimulatedDisk {
  /// A hash of the order and arguments of all calls so far, without the bytes.
  public var traceHash: UInt64 { files.traceHash }

  /// A hash of all names and bytes as they are read now.
  public var contentHash: UInt64 { files.contentHash }
}

extension SimulatedDisk: CustomStringConvertible {
  /// The history of the disk: its seed, and what happened to it since.
  ///
  /// Print it when a check fails, as in `#expect(sum == 100, "\(disk)")`.
  public var description: String { history }
}
