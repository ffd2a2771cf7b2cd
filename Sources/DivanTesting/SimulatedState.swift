import DivanLog

/// Stands for a file of a simulated disk in its directories; the bytes are in ``SimulatedState``.
final class SimulatedFileID: Sendable {
  let index: Int
  init(index: Int) { self.index = index }
}

/// A write that was not flushed.
struct VolatileWrite: Sendable {
  /// The number of this change among all changes of the disk.
  let number: Int
  let offset: Int
  let bytes: [UInt8]

  var end: Int { offset + bytes.count }
}

/// A change of names that was not flushed, and survives whole or not at all.
struct VolatileNames: Sendable {
  /// The number of this change among all changes of the disk.
  let number: Int
  let changes: [FileTree<SimulatedFileID>.Change]
}

/// What became of an earlier flush, which somebody is still to be told.
struct BelatedError: Sendable {
  let code: SystemError.Code
  /// Whether any call that can fail for it tells it, and not the next flush alone.
  let isForAnyCall: Bool
}

/// The bytes of one file.
///
/// Invariants:
/// - Without failed flushes and damage, `cached` is `durable` with the `pending` writes made to it.
struct SimulatedContents: Sendable {
  /// What is read.
  var cached: [UInt8] = []
  /// What is on the disk.
  var durable: [UInt8] = [] {
    didSet { rememberedHash = nil }
  }
  /// Stands for `durable`, so that not every fork of the disk needs to hash it again.
  private var rememberedHash: UInt64?
  /// What was written since the last flush, in order.
  var pending: [VolatileWrite] = []
  /// What a later call reports, though it is about an earlier flush.
  var belatedError: BelatedError?
  var isLocked = false

  mutating func write(_ write: VolatileWrite) {
    cached.replace(at: write.offset, with: write.bytes)
    pending.append(write)
  }

  /// Stands for what is on the disk.
  var durableHash: UInt64 {
    if let rememberedHash { return rememberedHash }
    var hash = StableHash()
    hash.addWords(durable)
    return hash.value
  }

  mutating func rememberHash() { rememberedHash = durableHash }

  /// Brings everything to the disk.
  mutating func flush() {
    for write in pending { durable.replace(at: write.offset, with: write.bytes) }
    pending.removeAll()
  }

  /// Makes what is read what it was before `writes`, which never reached the disk.
  mutating func revert(_ writes: [VolatileWrite]) {
    for write in writes {
      for offset in write.offset..<write.end where offset < cached.count {
        cached[offset] = offset < durable.count ? durable[offset] : 0
      }
    }
    // What was written after the flush failed is still to be seen.
    for write in pending { cached.replace(at: write.offset, with: write.bytes) }
  }

  /// Takes up a write in what is read only.
  mutating func pretend(_ write: VolatileWrite) {
    cached.replace(at: write.offset, with: write.bytes)
  }

  /// Overwrites what is on the disk, as far as there is something, past the page cache.
  mutating func hit(_ write: VolatileWrite) {
    let first = max(0, write.offset)
    let end = min(write.end, durable.count)
    guard first < end else { return }
    for offset in first..<end { durable[offset] = write.bytes[offset - write.offset] }
  }

  /// The error that is to be told now, which is told once.
  mutating func takeBelatedError(_ verb: SimulatedDisk.Verb) -> SystemError.Code? {
    guard let error = belatedError, error.isForAnyCall || verb == .flush else { return nil }
    belatedError = nil
    return error.code
  }
}

/// Everything that a simulated disk holds, as a value.
///
/// Copying it is a fork of the whole disk: that is how one moment is tried with many losses.
///
/// Invariants:
/// - `names` is `durableNames` with the `volatileNames` applied.
struct SimulatedState: Sendable {
  /// The names as they are seen.
  var names = FileTree<SimulatedFileID>()
  /// The names on the disk.
  var durableNames = FileTree<SimulatedFileID>()
  /// What was done to names and not flushed, in order.
  var volatileNames: [VolatileNames] = []
  /// The files by the index in their ID, those without names as well.
  var files: [SimulatedContents] = []
  var changeCount = 0
  var capacityBytes: Int?
  /// Decides what noise looks like; kept by forks.
  var noiseSeed: UInt64 = 0
}

extension SimulatedState {
  mutating func nextChangeNumber() -> Int {
    changeCount += 1
    return changeCount
  }

  /// A file that has no name yet.
  mutating func makeFile() -> SimulatedFileID {
    files.append(SimulatedContents())
    return SimulatedFileID(index: files.count - 1)
  }

  /// Makes changes of names that are not flushed.
  mutating func change(_ changes: [FileTree<SimulatedFileID>.Change]) {
    guard !changes.isEmpty else { return }
    names.apply(changes)
    volatileNames.append(VolatileNames(number: nextChangeNumber(), changes: changes))
  }

  mutating func flushNames(in directory: FileTree<SimulatedFileID>.DirectoryID) {
    flushNames { $0.changes.contains { $0.place.directory == directory } }
  }

  /// Brings the changes that `isChosen` names to the disk, and what they rest on.
  mutating func flushNames(_ isChosen: (VolatileNames) -> Bool) {
    var left: [VolatileNames] = []
    let chosen = Self.withGrounds(volatileNames.map(isChosen), of: volatileNames)
    for (change, isChosen) in zip(volatileNames, chosen) {
      if isChosen { durableNames.apply(change.changes) } else { left.append(change) }
    }
    volatileNames = left
  }

  /// Chooses, with every change, the earlier ones of the same names.
  ///
  /// Otherwise a file that was renamed twice could come back under its first and its last name,
  /// and a rename would not be atomic.
  static func withGrounds(_ chosen: [Bool], of changes: [VolatileNames]) -> [Bool] {
    var chosen = chosen
    var places: Set<FileTree<SimulatedFileID>.Place> = []
    for index in changes.indices.reversed() {
      let touched = changes[index].changes.map(\.place)
      guard chosen[index] || touched.contains(where: places.contains) else { continue }
      chosen[index] = true
      places.formUnion(touched)
    }
    return chosen
  }

  /// Calls `body` with the path and file of every name, in the order of the names.
  func forEachFile(_ body: (String, SimulatedFileID) -> Void) {
    forEachFile(in: FileTree<SimulatedFileID>.root, "", body)
  }

  private func forEachFile(
    in directory: FileTree<SimulatedFileID>.DirectoryID, _ path: String,
    _ body: (String, SimulatedFileID) -> Void
  ) {
    for name in names.names(in: directory) {
      let below = path + "/" + name
      switch names[.init(directory: directory, name: name)] {
      case .file(let file): body(below, file)
      case .directory(let next): forEachFile(in: next, below, body)
      case nil: break
      }
    }
  }

  /// What the files that have names take.
  var usedBytes: Int {
    var seen: Set<Int> = []
    var sum = 0
    forEachFile { _, file in
      if seen.insert(file.index).inserted { sum += files[file.index].cached.count }
    }
    return sum
  }

  /// How many more bytes fit, or nil if there is no limit.
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
