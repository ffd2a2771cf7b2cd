import Divan
import DivanLog
import Synchronization

/// Tries damage of one kind on one file of a store, and counts the results.
final class ByteTrial {
  private let run: ProofRun
  private let subject: ByteSubject
  private let kind: ByteDamageKind
  private let caseName: String
  private let largestRead: ByteFiles.LargestRead
  private var figures: [String: Int] = [:]
  private var number = 0
  private var failureCount = 0

  init(
    _ run: ProofRun, _ subject: ByteSubject, _ kind: ByteDamageKind, caseName: String,
    _ largestRead: ByteFiles.LargestRead
  ) {
    self.run = run
    self.subject = subject
    self.kind = kind
    self.caseName = caseName
    self.largestRead = largestRead
    // So that not only files with many trials are opened for writing.
    number = caseName.utf8.reduce(0) { $0 + Int($1) } % ByteTrial.writerShare
  }
}

extension ByteTrial {
  /// One in this many is opened for writing, too.
  private static let writerShare = 48

  /// One in this many damaged stores is queried in certain mode; in long runs, each is.
  ///
  /// It is not a divisor of eight, so that all bits of a byte occur in turn.
  private var askingShare: Int { run.budget.choose(test: 1, ci: 11, night: 1, release: 1) }

  func attempt(_ damage: ByteDamage) {
    number += 1
    var files = ByteFiles(subject.files)
    files.largestRead = largestRead
    for (name, bytes) in damage.changed {
      files.files[name] = bytes.map(SharedBytes.init(copying:))
    }
    do {
      let start = processorTime()
      let outcome = try subject.read(files, isMapped: number % 2 == 0)
      try judge(outcome, damage)
      if outcome == .reported, number % askingShare == 0 { try ask(files) }
      // Processor time, because the load of the machine must not count.
      let duration = processorTime() - start
      if duration > .seconds(1) { throw ByteLie("reading takes \(duration)") }
      if number % ByteTrial.writerShare == 0 { try write(files, outcome) }
    } catch {
      failureCount += 1
      if failureCount <= 3 { run.fail("\(damage): \(error)", caseName: caseName) }
    }
  }

  func finish() {
    for (name, count) in figures.sorted(by: { $0.key < $1.key }) { run.count(name, count) }
    if failureCount > 3 { run.fail("and \(failureCount - 3) more", caseName: caseName) }
  }

  private func count(_ name: String) { figures[name, default: 0] += 1 }

  private func judge(_ outcome: ByteOutcome, _ damage: ByteDamage) throws {
    count(kind.rawValue)
    switch outcome {
    case .identical: count("\(kind.rawValue), harmless")
    case .reported: count("\(kind.rawValue), reported")
    case .older(let version, let isNoted):
      if subject.isClosed, kind == .pairs, isNoted {
        // One bit in HEAD, whose loss is reported, and one in data that only HEAD proved.
        return count("\(kind.rawValue), an end of the log and its evidence lost, noted")
      }
      guard !subject.isClosed else {
        throw ByteLie("version \(version) of \(subject.versionCount - 1) without a report")
      }
      // In a log that was not closed, commits that were not acknowledged as durable may look torn.
      // If two files are damaged, one may be the evidence of the other.
      if kind != .pairs, version < subject.versionCount - 1 - subject.unprovenCommits {
        throw ByteLie("version \(version) of \(subject.versionCount - 1) without a report")
      }
      count("\(kind.rawValue), taken for a torn tail of a log that was not closed")
    }
  }

  /// Queries a damaged store; each answer must be right, or an error that it cannot be known.
  private func ask(_ files: ByteFiles) throws {
    // The second fault may damage the evidence of the first.
    let answers = try subject.ask(
      files, isMapped: number % 2 == 0,
      doubtCount: kind == .pairs ? subject.versionCount : subject.unprovenCommits)
    count("damaged stores that were asked for what is certain")
    for (topic, counts) in answers.counts {
      let about = "asked about \(topic.rawValue), \(kind.rawValue)"
      figures["answers that were right", default: 0] += counts.known
      figures["answers that were refused", default: 0] += counts.unknown
      figures["\(about): right", default: 0] += counts.known
      figures["\(about): refused", default: 0] += counts.unknown
    }
  }

  /// Opens a damaged store for writing, which must not change the result.
  private func write(_ files: ByteFiles, _ outcome: ByteOutcome) throws {
    let disk = MemoryFileSystem()
    try disk.makeDirectory(ByteFiles.directory)
    for (name, bytes) in files.files {
      let folders = name.split(separator: "/").dropLast()
      for end in folders.indices {
        let folder = folders[...end].joined(separator: "/")
        if try !disk.exists("\(ByteFiles.directory)/\(folder)") {
          try disk.makeDirectory("\(ByteFiles.directory)/\(folder)")
        }
      }
      let file = try disk.open("\(ByteFiles.directory)/\(name)", .creating)
      try file.write(bytes, at: 0)
      try file.close()
    }
    var configuration = Configuration()
    configuration.fileSystem = disk
    configuration.maintenance = .manual
    configuration.reserveSize = 0
    func open() throws -> Database {
      try Database(at: ByteFiles.directory, configuration: configuration)
    }
    count("opened for writing, too")
    let asWriter = try subject.judge { try open() }
    let mark = "\(ByteFiles.directory)/\(FileName.check)"
    if case .reported = asWriter, try disk.exists(mark) {
      // A reader checks the inner pages of the index. A writer read one that cannot be rebuilt, so
      // its next opening has to check them, too.
      count("opened for writing, with an index that the next opening has to check")
    } else {
      guard asWriter.isSame(as: outcome) else {
        throw ByteLie("\(outcome) for a reader, and \(asWriter) for a writer")
      }
    }
    let again = try subject.judge { try open() }
    guard again.isSame(as: outcome) else {
      throw ByteLie("\(outcome) at first, and \(again) once a writer had opened it")
    }
  }
}
