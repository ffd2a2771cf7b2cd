import Divan
import DivanLog
import DivanTesting
import Synchronization

extension CrashExplorer {
  /// Opens what is left, compares it with the possible versions, and continues with some states.
  ///
  /// Returns the version that is found. `keepsAll` means that everything is left that was handed to
  /// the disk.
  func examine(
    _ disk: SimulatedFileSystem, _ oracle: CrashOracle, keepsAll: Bool, _ image: UInt64
  ) throws -> Int {
    let number = counts.withLock { counts in
      counts.examined += 1
      return counts.examined
    }
    let fork = disk.restarted(.processEnd)
    // Closing takes time, and its result is not examined.
    defer { disk.losePower(atCall: 0) }
    let database = try fixture(disk, stranger).open { $0.maintenance = .manual }
    let path = disk.traceHash
    try check(database)
    let promised = keepsAll ? oracle.securedByProcessEnd : oracle
    let index = try promised.identify(database)
    count(image, path, database.openingReport, index)
    try checkNames(disk, at: CrashFixture.path)
    try checkCopies(fork, oracle)
    if number % effort.readingStride == 0, index > 0 { try read(fork, promised, index) }
    if number % effort.recoveryStride == 0 {
      try crashInRecovery(of: fork, oracle, expecting: index, number)
    }
    if number % effort.goingOnStride == 0 {
      // Data that was served is kept, whatever happens.
      var oracle = oracle
      oracle.cut(after: index)
      try goOn(disk, database, oracle, number)
    }
    return index
  }

  private func count(_ image: UInt64, _ path: UInt64, _ report: OpeningReport, _ version: Int) {
    var state = image &* 0x9E37_79B9_7F4A_7C15 ^ path
    for part in [
      report.ending == .closed ? 0 : report.ending == .created ? 1 : 2, report.replayedCommits,
      report.securedCommits, report.discardedBytes, version,
    ] {
      state = (state ^ (state >> 29)) &* 0xBF58_476D_1CE4_E5B9 ^ UInt64(part)
    }
    counts.withLock {
      $0.states.insert(state)
      $0.images.insert(image)
    }
  }

  /// A writer that knows the configuration of the store and nothing of its contents.
  var stranger: CrashWriter {
    CrashWriter(seed: 0, history: workload.history, revisionDepth: workload.revisionDepth)
  }

  func fixture(_ disk: SimulatedFileSystem, _ writer: CrashWriter) -> CrashFixture {
    let life = lives.wrappingAdd(1, ordering: .relaxed).newValue
    return CrashFixture(
      disk, writer, isMapped: alternatesReading ? life % 2 == 0 : isMapped, life: life)
  }

  func check(_ database: Database) throws {
    if let damage = database.openingReport.damage.first {
      throw CrashOracle.Mismatch("a crash was taken for damage: \(damage)")
    }
    if workload.asksViews { try ProofView.check(database) }
  }

  /// Checks that after an opening for writing, no file is superseded by another.
  private func checkNames(_ disk: SimulatedFileSystem, at path: String) throws {
    var numbers: [ClosedRange<UInt64>] = []
    for case .segment(let range)? in disk.names(in: path).map({ FileName($0) }) {
      numbers.append(range)
    }
    numbers.sort { $0.lowerBound < $1.lowerBound }
    for (one, next) in zip(numbers, numbers.dropFirst()) where one.overlaps(next) {
      throw CrashOracle.Mismatch("segments \(one) and \(next) were both left")
    }
    guard disk.names(in: "\(path)/tmp").isEmpty else {
      throw CrashOracle.Mismatch("a temporary file was left")
    }
  }

  /// Checks that a backup is complete or absent, and complete once it was acknowledged.
  private func checkCopies(_ disk: SimulatedFileSystem, _ oracle: CrashOracle) throws {
    for copy in oracle.copies {
      guard !disk.names(in: copy.path).isEmpty else {
        guard copy.isDone else { continue }
        throw CrashOracle.Mismatch("\(copy.path) is lost")
      }
      try compareCopy(at: copy.path, disk.restarted(.processEnd), oracle, copy.version)
    }
  }

  private func compareCopy(
    at path: String, _ disk: SimulatedFileSystem, _ oracle: CrashOracle, _ version: Int
  ) throws {
    defer { disk.losePower(atCall: 0) }
    var configuration = fixture(disk, stranger).configuration()
    configuration.maintenance = .manual
    let database = try Database(at: path, configuration: configuration)
    try check(database)
    do {
      try oracle.compare(database.snapshot(), withCopyOf: version)
    } catch {
      throw CrashOracle.Mismatch("the copy \(path): \(error)")
    }
  }

  /// Opens what is left for reading only, which must give the same result as for writing.
  private func read(
    _ disk: SimulatedFileSystem, _ oracle: CrashOracle, _ version: Int
  ) throws {
    counts.withLock { $0.readings += 1 }
    let copy = disk.restarted(.processEnd)
    let reader = try fixture(copy, stranger).open { $0.isReadOnly = true }
    try check(reader)
    let found = try oracle.identify(reader)
    guard found == version else {
      throw CrashOracle.Mismatch("a reader finds version \(found), a writer \(version)")
    }
    guard copy.changingCallCount == 0 else {
      throw CrashOracle.Mismatch("a reader changed something")
    }
  }

  /// Writes another document, ends in some way, and opens again.
  private func goOn(
    _ disk: SimulatedFileSystem, _ database: Database, _ oracle: CrashOracle, _ number: Int
  ) throws {
    counts.withLock { $0.continuations += 1 }
    let writer = CrashWriter(oracle, seed: UInt64(number))
    let highest = oracle.highestSequence
    try writer.commit(database, [.put("afterwards", size: 10)])
    guard let document = try database.snapshot().document("afterwards"), document.sequence > highest
    else { throw CrashOracle.Mismatch("a sequence up to \(highest) was handed out again") }
    try copyAgain(disk, database, writer)
    if number / effort.goingOnStride % 4 < 2 {
      let oracle = writer.oracle.withLock { $0 }
      if let version = oracle.versions.last, version.isRich {
        try fixture(disk, writer).checkAttachmentFiles(database, version, oracle.history)
      }
    }
    var next = disk
    switch number / effort.goingOnStride % 4 {
    case 0, 1: try database.close()
    case 2: next = disk.restarted(.strict)
    default: next = disk.restarted(.random(seed: seed &+ UInt64(number)))
    }
    defer { next.losePower(atCall: 0) }
    let reopened = try fixture(next, writer).open { $0.maintenance = .manual }
    try check(reopened)
    if next === disk, reopened.openingReport.ending != .closed {
      throw CrashOracle.Mismatch("a closed store is found \(reopened.openingReport.ending)")
    }
    _ = try writer.oracle.withLock { try $0.identify(reopened) }
  }

  /// Checks that an interrupted backup can be made again.
  private func copyAgain(
    _ disk: SimulatedFileSystem, _ database: Database, _ writer: CrashWriter
  ) throws {
    let oracle = writer.oracle.withLock { $0 }
    guard let copy = oracle.copies.first(where: { disk.names(in: $0.path).isEmpty }) else { return }
    try database.backup(to: copy.path)
    try compareCopy(
      at: copy.path, disk.restarted(.strict), oracle, oracle.versions.count - 1)
  }
}
