package import DivanLog
import Synchronization

/// A disk in memory that fails when it is told to, and forgets what was not flushed.
///
/// Give it to a database in a test, let it lose power or fail in the middle of the work, start it
/// again, and see that what your program relies on is still there:
///
/// ```swift
/// let disk = SimulatedDisk(seed: 1)
/// disk.losePower(atCall: 20)
/// // … work with a database on `disk`, which throws from some point on …
/// let after = disk.restarted(.random(seed: 7))
/// // … open the database on `after` and check it …
/// ```
///
/// Everything that happens follows from the seeds and the calls made: used from one thread, the
/// same test does the same every time, which ``traceHash`` shows.
public final class SimulatedDisk: Sendable {
  let files: SimulatedFileSystem
  /// Tells the time to the databases on this disk: see ``configuration(_:hasSmallFiles:)``.
  public let clock: SimulatedClock
  /// What the databases on this disk draw at random.
  let random: Guarded<SeededGenerator>
  /// How the disk came to be, for whoever reads of a failure.
  private let history: String

  /// Makes an empty disk.
  ///
  /// - Parameters:
  ///   - seed: decides how much of a failing write is written, and what the databases on this disk
  ///     draw at random.
  ///   - capacityBytes: how much the files may take together; nil for no limit.
  ///   - clock: tells the time to the databases on this disk.
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

  /// A disk of other files that goes on as this one would.
  func successor(_ files: SimulatedFileSystem, _ event: String) -> SimulatedDisk {
    SimulatedDisk(
      files, clock: clock.copy(), random: random.withLock { $0 },
      history: event.isEmpty ? history : history + ", " + event)
  }

  /// What the engine is given.
  package var fileSystem: any FileSystem { files }
}

// MARK: Faults

extension SimulatedDisk {
  /// What the engine can ask of a disk.
  public enum Verb: String, CaseIterable, Sendable {
    /// Opens a file that exists.
    case open
    /// Makes a file.
    case create
    /// Reads from a file.
    case read
    /// Writes to a file.
    case write
    /// Asks for a file's size.
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
    /// Asks what stands under a name.
    case status
    /// Flushes a directory.
    case flushDirectory
    /// Asks for a path without detours.
    case canonicalPath
    /// Takes a lock.
    case lock

    /// Whether it counts for ``SimulatedDisk/losePower(atCall:)``.
    public var isChanging: Bool {
      switch self {
      case .open, .read, .size, .map, .close, .list, .status, .canonicalPath: false
      case .create, .write, .flush, .rename, .link, .remove, .makeDirectory, .removeDirectory,
        .flushDirectory, .lock:
        true
      }
    }
  }

  /// Why a call fails.
  public enum Failure: CaseIterable, Hashable, Sendable {
    /// The medium failed (`EIO`).
    case inputOutput
    /// No space is left (`ENOSPC`).
    case noSpace
    /// The user's share of the space is used up (`EDQUOT`).
    case quotaExceeded
    /// Access is refused (`EACCES`).
    case noAccess
    /// It is not permitted (`EPERM`).
    case notPermitted
    /// Too many files are open in this process (`EMFILE`).
    case tooManyOpenFiles
    /// Too many files are open on this machine (`ENFILE`).
    case tooManyOpenFilesInSystem
    /// The medium can be read only (`EROFS`).
    case readOnly
    /// A signal arrived, and nobody asked again (`EINTR`).
    case interrupted
    /// The file is gone from its server (`ESTALE`).
    case staleHandle
    /// The file is not there, though it was a moment ago (`ENOENT`).
    case notFound
    /// The system has no memory for it (`ENOMEM`).
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

  /// How much of a call is done that fails.
  public enum Completion: CaseIterable, Hashable, Sendable {
    /// Nothing.
    case nothing
    /// Some of the bytes of a write, and nothing of any other call.
    case part
    /// Everything: the error is all that is wrong, as when an answer is lost on the way.
    case everything
  }

  /// How a system behaves that failed to flush a file.
  ///
  /// In each case but the first two the bytes never reach the disk.
  public enum FailedFlush: Hashable, Sendable {
    /// Nothing happened, and the next flush may well succeed.
    case staysDirty
    /// The bytes are on the disk, and only the error is wrong.
    case takesEffect
    /// The error is reported once. Reading goes on to give the new bytes, until the power is lost.
    case keepsNewBytes
    /// After so many more calls, reading gives the old bytes again, or zeros past the old end.
    case revertsToOldBytes(afterCalls: Int)
    /// This flush reports success; the next one of the same file reports the error.
    case reportsAtNextFlush
    /// This flush reports success; the next write, flush or closing of the same file reports the
    /// error.
    case reportsAtNextCall
  }

  /// What a disk says that it did, and did not.
  ///
  /// Reading gives what was asked for, as the page cache holds it, until the power is lost or the
  /// cache forgets it.
  public enum Lie: Hashable, Sendable {
    /// A write never reaches the disk, not even by a flush.
    case lostWrite
    /// A write hits another place, as far as there is something: in the same file if `path` is nil.
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

  /// Makes the `call`-th call from now fail, counted from 1 over all calls or those of one verb.
  ///
  /// - Parameters:
  ///   - verb: the calls that count; all if nil.
  ///   - call: which of them fails.
  ///   - failure: why it fails.
  ///   - completion: how much of it is done nevertheless.
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

  /// Makes the `call`-th write, flush of a file or flush of a directory from now, counted from 1,
  /// report success for what it does not do.
  ///
  /// - Parameters:
  ///   - lie: which of the three.
  ///   - call: which of those calls.
  ///   - isLasting: whether every later one does so, too.
  ///   - forgottenAfterCalls: after so many more calls reading gives what is on the disk; not before
  ///     the power is lost if nil.
  public func lie(
    _ lie: Lie, atCall call: Int = 1, isLasting: Bool = false, forgottenAfterCalls: Int? = nil
  ) {
    files.lie(
      lie, atCall: call, isLasting: isLasting, forgottenAfterCalls: forgottenAfterCalls)
  }

  /// Takes back every fault that was asked for.
  public func stopFailing() { files.stopFailing() }

  /// How much the files may take together, in bytes; nil for no limit.
  public var capacityBytes: Int? {
    get { files.capacityBytes }
    set { files.capacityBytes = newValue }
  }

  /// How much the files take together, in bytes.
  public var usedBytes: Int { files.usedBytes }
}

// MARK: Evidence

extension SimulatedDisk {
  /// Stands for the order and arguments of all calls so far, without the bytes.
  public var traceHash: UInt64 { files.traceHash }

  /// Stands for all names and bytes as they are read now.
  public var contentHash: UInt64 { files.contentHash }
}

extension SimulatedDisk: CustomStringConvertible {
  /// How the disk came to be: its seed, and what happened to it since.
  ///
  /// Print it when a check fails, as in `#expect(sum == 100, "\(disk)")`.
  public var description: String { history }
}
