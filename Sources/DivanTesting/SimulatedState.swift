import DivanLog

/// The identity of a file of a simulated disk; the bytes are in ``SimulatedState``.
final class SimulatedFileID: Sendable {
  let index: Int
  init(index: Int) { self.index = index }
}

extension SimulatedFileID {
  /// Returns the file of the tree of a simulated disk, which has no others.
  static func of(_ file: FileTree.File) -> SimulatedFileID {
    guard let file = file as? SimulatedFileID else {
      preconditionFailure("The tree of a simulated disk has a file of another file system")
    }
    return file
  }
}

extension FileTree {
  func simulatedFile(at path: String, _ call: String) throws(SystemError) -> SimulatedFileID {
    .of(try file(at: path, call))
  }
}

/// An unflushed write.
struct VolatileWrite: Sendable {
  /// The number of this change among all changes of the disk.
  let number: Int
  let offset: Int
  let bytes: [UInt8]

  var end: Int { offset + bytes.count }
}

/// An unflushed change of names, which survives whole or not at all.
struct VolatileNames: Sendable {
  /// The number of this change among all changes of the disk.
  let number: Int
  let changes: [FileTree.Change]
}

/// The error of an earlier flush that a later call is to report.
struct BelatedError: Sendable {
  let code: SystemError.Code
  /// Whether any call that can fail reports it, and not only the next flush.
  let isForAnyCall: Bool
}

/// The bytes of one file.
///
/// Invariants:
/// - Without failed flushes and damage, `cached` is `durable` with the `pending` writes applied.
struct SimulatedContents: Sendable {
  /// The bytes that are read.
  var cached: [UInt8] = []
  /// The bytes on the disk.
  var durable: [UInt8] = [] {
    didSet { cachedHash = nil }
  }
  /// The hash of `durable`; forks of the disk need not compute it again.
  private var cachedHash: UInt64?
  /// The writes since the last flush, in order.
  var pending: [VolatileWrite] = []
  /// The error of an earlier flush that a later call reports.
  var belatedError: BelatedError?
  var isLocked = false

  mutating func write(_ write: VolatileWrite) {
    cached.replace(at: write.offset, with: write.bytes)
    pending.append(write)
  }

  /// A hash of the bytes on the disk.
  var durableHash: UInt64 {
    if let cachedHash { return cachedHash }
    var hash = StableHash()
    hash.addWords(durable)
    return hash.value
  }

  mutating func cacheHash() { cachedHash = durableHash }

  /// Writes everything to the disk.
  mutating func flush() {
    for write in pending { durable.replace(at: write.offset, with: write.bytes) }
    pending.removeAll()
  }

  /// Makes reads return the bytes from before `writes`, which never reached the disk.
  mutating func revert(_ writes: [VolatileWrite]) {
    for write in writes {
      for offset in write.offset..<write.end where offset < cached.count {
        cached[offset] = offset < durable.count ? durable[offset] : 0
      }
    }
    // Bytes that were written after the failed flush are still read.
    for write in pending { cached.replace(at: write.offset, with: write.bytes) }
  }

  /// Applies a write only to the bytes that are read.
  mutating func pretend(_ write: VolatileWrite) {
    cached.replace(at: write.offset, with: write.bytes)
  }

  /// Overwrites existing bytes on the disk, past the page cache.
  mutating func hit(_ write: VolatileWrite) {
    let first = max(0, write.offset)
    let end = min(write.end, durable.count)
    guard first < end else { return }
    for offset in first..<end { durable[offset] = write.bytes[offset - write.offset] }
  }

  /// Returns the error that is to be reported now, and removes it.
  mutating func takeBelatedError(_ verb: SimulatedDisk.Verb) -> SystemError.Code? {
    guard let error = belatedError, error.isForAnyCall || verb == .flush else { return nil }
    belatedError = nil
    return error.code
  }
}

/// The whole contents of a simulated disk, as a value.
///
/// A copy is a fork of the whole disk, with which many losses can be tried at one point in time.
///
/// Invariants:
/// - `names` is `durableNames` with the `volatileNames` applied.
struct SimulatedState: Sendable {
  /// The names that are read.
  var names = FileTree()
  /// The names on the disk.
  var durableNames = FileTree()
  /// The unflushed changes of names, in order.
  var volatileNames: [VolatileNames] = []
  /// The files by the index in their ID, including those without names.
  var files: [SimulatedContents] = []
  var changeCount = 0
  var capacityBytes: Int?
  /// The seed of noise, which forks keep.
  var noiseSeed: UInt64 = 0
}

extension SimulatedState {
  mutating func nextChangeNumber() -> Int {
    changeCount += 1
    return changeCount
  }

  /// Makes a file that has no name yet.
  mutating func makeFile() -> SimulatedFileID {
    files.append(SimulatedContents())
    return SimulatedFileID(index: files.count - 1)
  }

  /// Makes changes of names, which are not flushed.
  mutating func change(_ changes: [FileTree.Change]) {
    guard !changes.isEmpty else { return }
    names.apply(changes)
    volatileNames.append(VolatileNames(number: nextChangeNumber(), changes: changes))
  }

  mutating func flushNames(in directory: FileTree.DirectoryID) {
    flushNames { $0.changes.contains { $0.entry.directory == directory } }
  }

  /// Writes the changes that `isChosen` selects to the disk, and the changes that they depend on.
  mutating func flushNames(_ isChosen: (VolatileNames) -> Bool) {
    var left: [VolatileNames] = []
    let chosen = Self.withPredecessors(volatileNames.map(isChosen), of: volatileNames)
    for (change, isChosen) in zip(volatileNames, chosen) {
      if isChosen { durableNames.apply(change.changes) } else { left.append(change) }
    }
    volatileNames = left
  }

  /// Chooses, for every chosen change, the earlier ones of the same names, too.
  ///
  /// Otherwise a file that was renamed twice could come back under its first and its last name,
  /// and a rename would not be atomic.
  static func withPredecessors(_ chosen: [Bool], of changes: [VolatileNames]) -> [Bool] {
    var chosen = chosen
    var entries: Set<FileTree.Entry> = []
    for index in changes.indices.reversed() {
      let changed = changes[index].changes.map(\.entry)
      guard chosen[index] || changed.contains(where: entries.contains) else { continue }
      chosen[index] = true
      entries.formUnion(changed)
    }
    return chosen
  }

  /// Calls `body` with the path and file of every name, in the order of the names.
  func forEachFile(_ body: (String, SimulatedFileID) -> Void) {
    forEachFile(in: FileTree.root, "", body)
  }

  private func forEachFile(
    in directory: FileTree.DirectoryID, _ path: String,
    _ body: (String, SimulatedFileID) -> Void
  ) {
    for name in names.names(in: directory) {
      let below = path + "/" + name
      switch names[.init(directory: directory, name: name)] {
      case .file(let file): body(below, .of(file))
      case .directory(let next): forEachFile(in: next, below, body)
      case nil: break
      }
    }
  }

  /// The total size of the files that have names.
  var usedBytes: Int {
    var seen: Set<Int> = []
    var sum = 0
    forEachFile { _, file in
      if seen.insert(file.index).inserted { sum += files[file.index].cached.count }
    }
    return sum
  }

  /// The number of bytes that still fit, or nil if there is no limit.
  var freeBytes: Int? { capacityBytes.map { max(0, $0 - usedBytes) } }
}

extension [UInt8] {
  /// Overwrites bytes from `offset` on; a gap before them is filled with zeros.
  mutating func replace(at offset: Int, with bytes: some Collection<UInt8>) {
    if offset == count { return append(contentsOf: bytes) }
    let end = offset + bytes.count
    if count < end { append(contentsOf: repeatElement(0, count: end - count)) }
    replaceSubrange(offset..<end, with: bytes)
  }
}
