import Foundation

/// The named workloads, in the order in which they run.
enum Workload: String, CaseIterable, Codable {
  case load, read, scan, open, commit, overwrite, records, query, text
}

/// One piece of work for a child process: one workload, one engine, one repetition.
struct ChildTask: Codable {
  /// The work of the child; some workloads take several steps.
  enum Step: String, Codable {
    case load, read, scan, open, crash, commit, overwrite, records, query, text
  }

  var step: Step
  var engine: String
  /// The directory of the store.
  var directory: String
  var corpus: String
  var seed: UInt64
  /// The number of documents in a loaded store; the corpus holds more, for commits.
  var count: Int
  var repetition: Int
  var cacheBytes: Int
  /// The time after which the child should stop a workload that may be shortened.
  var limitSeconds: Double
  /// The measure for the time that ``Step/open`` takes.
  var opening: Measure = .openClean
}

extension ChildTask {
  /// The number of documents in one transaction of a load.
  static let transactionSize = 1000
  /// The number of documents in the corpus beyond the store's own, for single commits.
  static let extraCount = 40_000
  private static let singleCommits = 200
  private static let threadCount = 8
  private static let commitsPerThread = 100

  /// Does the work and returns the samples.
  func run() throws -> [Sample] {
    guard let type = allEngines.first(where: { $0.name == engine }) else {
      throw PeerError("no engine \(engine)")
    }
    let corpus = try Corpus(path: corpus, seed: seed)
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    switch step {
    case .load: return try load(type, corpus)
    case .read: return try read(type, corpus)
    case .scan: return try scan(type, corpus)
    case .open: return try open(type, corpus)
    case .crash: return try crash(type, corpus)
    case .commit: return try commit(type, corpus)
    case .overwrite: return try overwrite(type, corpus)
    case .records: return try records(type, corpus)
    case .query: return try query(type, corpus)
    case .text: return try text(type)
    }
  }

  private func text(_ type: any Engine.Type) throws -> [Sample] {
    let opened = try type.init(directory: directory, purpose: .relaxed, cacheBytes: cacheBytes)
    guard let engine = opened as? any TextEngine else {
      throw PeerError("\(engine) has no full-text index")
    }
    let work = TextWork(
      engine, directory: directory, count: count, seed: seed, repetition: repetition)
    let samples = try work.samples()
    try engine.close()
    return samples
  }

  private func load(_ type: any Engine.Type, _ corpus: Corpus) throws -> [Sample] {
    let memory = anonymousMemory()
    let engine = try type.init(directory: directory, purpose: .bulk, cacheBytes: cacheBytes)
    let elapsed = try fill(engine, type, corpus)
    let memoryLoaded = anonymousMemory()
    _ = try engine.scan(.id)
    let memoryRead = anonymousMemory()
    try engine.settle()
    try engine.close()
    var samples = [
      Sample(measure: .load, value: elapsed * 1e6 / Double(count)),
      Sample(
        measure: .diskLoaded,
        value: bytesOnDisk(directory) / Double(corpus.liveBytes(count))),
    ]
    if let memory, let memoryLoaded, let memoryRead {
      let documents = Double(count)
      samples.append(
        Sample(measure: .memoryLoaded, value: (memoryLoaded - memory) / documents))
      samples.append(Sample(measure: .memoryRead, value: (memoryRead - memory) / documents))
    }
    return samples
  }

  /// Loads the store and flushes it; returns the seconds spent in the engine.
  private func fill(
    _ engine: any Engine, _ type: any Engine.Type, _ corpus: Corpus
  ) throws -> Double {
    var elapsed = 0.0
    for start in stride(from: 0, to: count, by: Self.transactionSize) {
      let batch = corpus.batch(
        start..<min(start + Self.transactionSize, count), form: type.form)
      elapsed += try seconds { try engine.load(batch) }
    }
    return try elapsed + seconds { try engine.flush() }
  }

  private func read(_ type: any Engine.Type, _ corpus: Corpus) throws -> [Sample] {
    let engine = try type.init(directory: directory, purpose: .relaxed, cacheBytes: cacheBytes)
    try engine.settle()
    let sampleCount = min(count, 100_000)
    let warmUp = corpus.randomIDs(among: count, sampleCount: sampleCount / 5, seed: 1)
    // Reads every page once, so that the measured reads have no page faults of a fresh mapping.
    _ = try engine.scan(.id)
    var samples: [Sample] = []
    for kind in type.reads {
      _ = try engine.read(warmUp, kind)
      let seed = UInt64(100 + repetition)
      let ids = corpus.randomIDs(among: count, sampleCount: sampleCount, seed: seed)
      let elapsed = try seconds { _ = try engine.read(ids, kind) }
      samples.append(
        Sample(measure: .read(kind), value: elapsed * 1e9 / Double(sampleCount)))
    }
    try verifyReads(engine, type, corpus)
    try engine.close()
    return samples
  }

  /// Compares the engine's results with the corpus: a fast wrong answer does not count.
  private func verifyReads(
    _ engine: any Engine, _ type: any Engine.Type, _ corpus: Corpus
  ) throws {
    let ids = IDList((0..<100).map { corpus.id($0) })
    let titles = titleSum(corpus, 100)
    guard try !type.reads.contains(.property) || engine.read(ids, .property) == titles else {
      throw PeerError("the properties read are not those written")
    }
  }

  private func titleSum(_ corpus: Corpus, _ count: Int) -> UInt64 {
    (0..<count).reduce(0) { sum, index in
      let body = corpus.body(index)
      return sum + (body.baseAddress.map { RawValue.titleSize($0, body.count) } ?? 0)
    }
  }

  private func scan(_ type: any Engine.Type, _ corpus: Corpus) throws -> [Sample] {
    let engine = try type.init(directory: directory, purpose: .relaxed, cacheBytes: cacheBytes)
    try engine.settle()
    let expected = titleSum(corpus, count)
    var samples: [Sample] = []
    for order in type.scans {
      if repetition == 0 { _ = try engine.scan(order) }
      var result = (count: 0, sum: UInt64(0))
      let elapsed = try seconds { result = try engine.scan(order) }
      guard repetition > 0 || (result.count == count && result.sum == expected) else {
        throw PeerError("scanned \(result.count) documents, \(result.sum) bytes of titles")
      }
      samples.append(
        Sample(measure: .scan(order), value: elapsed * 1e9 / Double(result.count)))
    }
    try engine.close()
    return samples
  }

  private func open(_ type: any Engine.Type, _ corpus: Corpus) throws -> [Sample] {
    let kind = type.reads.contains(.property) ? ReadKind.property : .value
    let ids = corpus.randomIDs(among: count, sampleCount: 1, seed: UInt64(repetition))
    let memory = anonymousMemory()
    var opened: (any Engine)?
    let elapsed = try seconds {
      let engine = try type.init(directory: directory, purpose: .durable, cacheBytes: cacheBytes)
      _ = try engine.read(ids, kind)
      opened = engine
    }
    var samples = [Sample(measure: opening, value: elapsed * 1e3)]
    if opening == .openClean, let memory, let grown = anonymousMemory() {
      samples.append(Sample(measure: .memoryOpened, value: (grown - memory) / 1e6))
    }
    try opened?.close()
    return samples
  }

  /// Overwrites 20,000 documents and kills the process, which never returns.
  private func crash(_ type: any Engine.Type, _ corpus: Corpus) throws -> [Sample] {
    let engine = try type.init(directory: directory, purpose: .relaxed, cacheBytes: cacheBytes)
    var random = SplitMix64(state: UInt64(repetition) &+ 77)
    for transaction in 0..<20 {
      let indices = (0..<Self.transactionSize).map { _ in random.next(below: count) }
      try engine.load(
        corpus.batch(indices, form: type.form, bodyShift: 1 + transaction))
    }
    kill(getpid(), SIGKILL)
    return []
  }

  private func commit(_ type: any Engine.Type, _ corpus: Corpus) throws -> [Sample] {
    let engine = try type.init(directory: directory, purpose: .durable, cacheBytes: cacheBytes)
    // Each repetition commits documents of its own, so that all are insertions.
    let perRepetition = Self.singleCommits + 20 + Self.threadCount * Self.commitsPerThread
    let first = count + repetition * perRepetition
    guard first + perRepetition <= corpus.count else { throw PeerError("too many repetitions") }
    let documents = corpus.batch(
      first..<first + perRepetition, form: type.form
    ).documents
    for document in documents.prefix(20) { try engine.commit(document) }

    let singles = documents.dropFirst(20).prefix(Self.singleCommits)
    let times = try singles.map { document in
      try seconds { try engine.commit(document) } * 1e6
    }
    let rest = Array(documents.dropFirst(20 + Self.singleCommits))
    let together = try commitFromThreads(rest, engine)
    try engine.close()
    let alone = times.reduce(0, +) / Double(times.count)
    return [
      Sample(measure: .commitMedian, value: times.percentile(0.5)),
      Sample(measure: .commit99, value: times.percentile(0.99)),
      Sample(measure: .commitThreads, value: together),
      Sample(measure: .commitSpeedup, value: alone / together),
    ]
  }

  /// Commits from eight threads; returns microseconds of wall clock per commit.
  private func commitFromThreads(_ documents: [Document], _ engine: any Engine) throws -> Double {
    let failures = FailureBox()
    let elapsed = seconds {
      let group = DispatchGroup()
      for thread in 0..<Self.threadCount {
        group.enter()
        let share = documents[thread * Self.commitsPerThread..<(thread + 1) * Self.commitsPerThread]
        Thread {
          defer { group.leave() }
          do { for document in share { try engine.commit(document) } } catch { failures.add(error) }
        }.start()
      }
      group.wait()
    }
    if let failure = failures.first { throw failure }
    return elapsed * 1e6 / Double(documents.count)
  }

  private func overwrite(_ type: any Engine.Type, _ corpus: Corpus) throws -> [Sample] {
    let engine = try type.init(directory: directory, purpose: .relaxed, cacheBytes: cacheBytes)
    _ = try fill(engine, type, corpus)
    let live = Double(corpus.liveBytes(count))
    var random = SplitMix64(state: UInt64(repetition) &+ 4242)
    let transactions = 10 * count / Self.transactionSize
    var elapsed = 0.0
    var done = 0
    var maximum = bytesOnDisk(directory)
    while done < transactions, elapsed < limitSeconds / 2 {
      let indices = (0..<Self.transactionSize).map { _ in random.next(below: count) }
      let batch = corpus.batch(indices, form: type.form, bodyShift: 1 + done)
      elapsed += try seconds { try engine.load(batch) }
      done += 1
      if done % 10 == 0 { maximum = max(maximum, bytesOnDisk(directory)) }
    }
    elapsed += try seconds { try engine.flush() }
    maximum = max(maximum, bytesOnDisk(directory))
    try engine.settle()
    try engine.close()
    if done < transactions {
      warn("\(self.engine): overwriting cut short at \(done) of \(transactions)")
    }
    return [
      Sample(measure: .overwrite, value: elapsed * 1e6 / Double(done * Self.transactionSize)),
      Sample(measure: .diskOverwriteMaximum, value: maximum / live),
      Sample(measure: .diskOverwriteFinal, value: bytesOnDisk(directory) / live),
    ]
  }

  private func records(_ type: any Engine.Type, _ corpus: Corpus) throws -> [Sample] {
    let records = (0..<count).map(corpus.generator.document)
    let byID = stride(from: 0, to: count, by: 5).map { records[$0].id }
    let opened = try type.init(directory: directory, purpose: .durable, cacheBytes: cacheBytes)
    guard let engine = opened as? any RecordEngine else { throw PeerError("no records") }
    let inserting = try seconds { try engine.insertRecords(records) }
    // The second of two, so that the first pays for the warm-up.
    _ = try engine.loadRecords()
    var sum = 0
    let loading = try seconds { sum = try engine.loadRecords() }
    guard sum == records.reduce(0, { $0 + $1.year }) else { throw PeerError("wrong records") }
    let finding = try seconds { _ = try engine.loadRecords(ids: byID) }
    try engine.close()
    return [
      Sample(measure: .recordsInsert, value: inserting * 1e6 / Double(count)),
      Sample(measure: .recordsLoad, value: loading * 1e6 / Double(count)),
      Sample(measure: .recordsLoadByID, value: finding * 1e6 / Double(byID.count)),
    ]
  }
}

// MARK: - Queries

extension ChildTask {
  private func query(_ type: any Engine.Type, _ corpus: Corpus) throws -> [Sample] {
    let opened = try type.init(directory: directory, purpose: .relaxed, cacheBytes: cacheBytes)
    guard let engine = opened as? any QueryEngine else { throw PeerError("no queries") }
    let samples = try QueryWork(
      engine: engine, corpus: corpus, count: count, repetition: repetition
    ).samples()
    try engine.close()
    return samples
  }
}

/// Collects the errors of threads.
///
/// `@unchecked Sendable`: `lock` guards the errors.
private final class FailureBox: @unchecked Sendable {
  private let lock = NSLock()
  private var errors: [any Error] = []

  func add(_ error: any Error) { lock.withLock { errors.append(error) } }

  var first: (any Error)? { lock.withLock { errors.first } }
}

/// Writes a line to standard error, apart from the figures.
func warn(_ line: String) {
  FileHandle.standardError.write(Data("  \(line)\n".utf8))
}
