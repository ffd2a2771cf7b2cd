import DivanLog

/// The directory of a checkpoint.
///
/// It says through which commit the index was written, and where its pages are.
///
/// A checkpoint is derived data. It is used only if every file that it depends on exists; without
/// one the index is rebuilt from the segments. RECOVERY.md, rules 19 and 20.
struct Checkpoint: Sendable {
  /// A position in the log.
  struct Position: Equatable, Sendable {
    var segmentNumber: UInt64
    var fileID: UInt64
    var end: LogEnd
  }

  /// The location of a run in a checkpoint's file.
  struct RunLocator: Equatable, Sendable {
    var checkpoint: UInt64
    /// The salt of that file, so that no other file of the same number is taken for it.
    var salt: UInt64
    /// The run contains the changes up to and including this commit.
    var commit: UInt64
    var summary: RunSummary
  }

  /// A segment that was live when the checkpoint was taken.
  struct Member: Equatable, Sendable {
    var segment: SegmentChain.Member
    var usage: SegmentTable.Usage
  }

  var number: UInt64
  /// The position in the log through which everything is in the pages.
  var position: Position
  var time: UInt64
  var lastSequence: UInt64
  var documentCount: UInt64
  /// The highest number of any segment file.
  var highestFileID: UInt64
  /// Versions before this commit may be incomplete.
  var historyHorizon: UInt64
  var members: [Member]
  /// The runs of each tree of ``Version``, newest first; older versions had fewer trees.
  var trees: [[RunLocator]]
}

extension Checkpoint {
  /// Returns the first page of a run in the checkpoint's own file, where runs follow each other.
  func firstPage(of run: RunSummary, pageSize: Int) -> UInt32 {
    var first = 0
    for runs in trees {
      for other in runs where other.checkpoint == number && other.summary.root < run.root {
        // A filter comes after the root.
        let filterPageCount = other.summary.filter.pageCount(pageSize: pageSize)
        first = max(first, Int(other.summary.root) + 1 + filterPageCount)
      }
    }
    return UInt32(clamping: first)
  }

  /// Whether pages of the checkpoint file of this number are in use.
  func depends(on number: UInt64) -> Bool {
    number == self.number || trees.joined().contains { $0.checkpoint == number }
  }

  /// The second version also says how far back history reaches.
  private static let versions: ClosedRange<UInt8> = 1...2

  /// Whether there is anything but documents and the order of their changes.
  private var isExtended: Bool { trees.dropFirst(2).contains { !$0.isEmpty } }

  /// The number of trees up to the last one that has a run.
  private var usedTreeCount: Int { trees.lastIndex { !$0.isEmpty }.map { $0 + 1 } ?? 0 }

  func encode(to writer: inout ByteWriter) {
    writer.append(isExtended ? Checkpoint.versions.upperBound : Checkpoint.versions.lowerBound)
    writer.appendVarint(position.segmentNumber)
    writer.appendVarint(position.fileID)
    writer.appendVarint(position.end.offset)
    writer.appendVarint(position.end.commit)
    writer.append(position.end.chain)
    writer.appendVarint(time)
    writer.appendVarint(lastSequence)
    writer.appendVarint(documentCount)
    writer.appendVarint(highestFileID)
    writer.appendVarint(members.count)
    for member in members {
      writer.appendVarint(member.segment.numbers.lowerBound)
      writer.appendVarint(member.segment.numbers.upperBound)
      writer.appendVarint(member.segment.fileID)
      writer.append(member.segment.salt)
      writer.appendVarint(member.usage.total)
      writer.appendVarint(member.usage.dead)
    }
    let trees = trees.prefix(isExtended ? max(4, usedTreeCount) : 2)
    writer.appendVarint(trees.count)
    for runs in trees {
      writer.appendVarint(runs.count)
      for run in runs {
        writer.appendVarint(run.checkpoint)
        writer.append(run.salt)
        writer.appendVarint(run.commit)
        writer.appendVarint(UInt64(run.summary.root))
        writer.appendVarint(run.summary.height)
        writer.appendVarint(run.summary.count)
        writer.appendVarint(UInt64(run.summary.filter.firstPage))
        writer.appendVarint(UInt64(run.summary.filter.blockCount))
      }
    }
    if isExtended { writer.appendVarint(historyHorizon) }
  }

  static func decode(_ bytes: SharedBytes, number: UInt64) throws(ByteError) -> Checkpoint {
    var reader = ByteReader(bytes)
    let version = try reader.read(UInt8.self)
    guard versions.contains(version) else {
      throw ByteError(offset: 0, reason: "a directory of an unknown version")
    }
    let segmentNumber = try reader.readVarint()
    let fileID = try reader.readVarint()
    let offset = try reader.readVarint()
    let commit = try reader.readVarint()
    let end = LogEnd(offset: offset, commit: commit, chain: try reader.read(UInt32.self))
    var checkpoint = Checkpoint(
      number: number,
      position: Position(segmentNumber: segmentNumber, fileID: fileID, end: end),
      time: try reader.readVarint(), lastSequence: try reader.readVarint(),
      documentCount: try reader.readVarint(), highestFileID: try reader.readVarint(),
      historyHorizon: commit, members: [], trees: [])
    for _ in 0..<(try reader.readCount(limit: reader.remaining)) {
      checkpoint.members.append(try Member.decode(&reader))
    }
    for _ in 0..<(try reader.readCount(limit: reader.remaining)) {
      var runs: [RunLocator] = []
      for _ in 0..<(try reader.readCount(limit: reader.remaining)) {
        runs.append(try RunLocator.decode(&reader))
      }
      checkpoint.trees.append(runs)
    }
    // A directory of the first version has no history.
    if version > versions.lowerBound { checkpoint.historyHorizon = try reader.readVarint() }
    try checkpoint.checkNumbers(size: bytes.count)
    return checkpoint
  }

  /// Refuses numbers that no writer wrote, so that nothing overflows later.
  private func checkNumbers(size: Int) throws(ByteError) {
    let numbers =
      [
        position.segmentNumber, position.fileID, position.end.offset, position.end.commit, time,
        lastSequence, documentCount, highestFileID, historyHorizon,
      ] + members.flatMap { [$0.segment.fileID, $0.segment.numbers.upperBound, $0.usage.total] }
    // The root is written last, and an entry takes a byte at least.
    let runsFit = trees.joined().map(\.summary).allSatisfy { run in
      run.count / CheckpointHeader.pageSize <= Int(run.root)
    }
    guard numbers.allSatisfy({ $0 <= counterLimit }), runsFit,
      members.allSatisfy({ $0.usage.dead <= $0.usage.total }),
      // Otherwise another file with this number would be read from the position on.
      members.contains(where: {
        $0.segment.numbers.contains(position.segmentNumber) && $0.segment.fileID == position.fileID
      })
    else { throw ByteError(offset: size, reason: "impossible numbers") }
  }
}

extension Checkpoint {
  /// A checkpoint that was opened, with the log that it depends on.
  struct Usable {
    var checkpoint: Checkpoint
    var chain: SegmentChain
    /// The index as of the checkpoint.
    var state: Version
    /// The damaged records of document indexes.
    var damage: [Damage]

    /// Checks the inner pages of all runs, and rebuilds damaged ones.
    func requireInnerPages() throws(PageError) {
      for run in runs { try run.requireInnerPages() }
    }

    /// Adds a note if inner pages were rebuilt.
    func noteRebuiltPages(_ notes: inout [String]) {
      guard runs.contains(where: \.hasRebuiltPages) else { return }
      notes.append(
        "Damaged inner pages of checkpoint \(checkpoint.number) were rebuilt from its leaves")
    }

    private var runs: [Run] { Version.trees.flatMap { state[keyPath: $0].runs } }
  }

  /// Facts that a checkpoint proves though a file that it depends on is missing.
  struct Evidence {
    var storeID: StoreID
    var watermark: LogRecovery.Watermark
  }

  /// When the inner pages of runs are checked, and what becomes of damaged ones.
  enum InnerPageCheck {
    /// At the opening, and a checkpoint with a damaged one is not used.
    case refusing
    /// At the opening, and damaged ones are rebuilt if the leaves are whole.
    case rebuilding
    /// When they are read, as the leaves: see ``StoreEnvironment/repairIndex(_:in:)``.
    case deferred
  }

  /// Opens the newest checkpoint that is complete; nil if there is none.
  ///
  /// `evidence` gets the facts that newer ones prove.
  static func newestUsable(
    among files: Set<FileName>, in directory: StoreDirectory, configuration: Configuration,
    innerPages: InnerPageCheck, notes: inout [String], evidence: inout [Evidence]
  ) throws(LogError) -> Usable? {
    var numbers: [UInt64] = []
    for case .checkpoint(let number) in files { numbers.append(number) }
    let isMapped = configuration.readMode.isMapped
    for number in numbers.sorted(by: >) {
      do throws(LogError) {
        if let usable = try open(
          number, among: files, in: directory, isMapped: isMapped,
          nodeSize: configuration.nodeSize, innerPages: innerPages)
        {
          usable.noteRebuiltPages(&notes)
          return usable
        }
        notes.append("Checkpoint \(number) depends on missing files and was not used")
        let file = try CheckpointFile.open(number, in: directory, isMapped: isMapped)
        let checkpoint = try Checkpoint(of: file)
        evidence.append(
          Evidence(
            storeID: file.header.preamble.storeID,
            watermark: LogRecovery.Watermark(
              commit: checkpoint.position.end.commit, offset: 0, witness: "checkpoint \(number)")))
      } catch .newerFormat(let path, let version) {
        throw .newerFormat(path: path, version: version)
      } catch .system(let error) where ![.notFound, .inputOutput].contains(error.code) {
        // A later opening can read it. A medium that fails may never do: the log has everything.
        throw .system(error)
      } catch {
        if error.isAboutKey { throw error }
        notes.append(
          "Checkpoint \(number) cannot be read and was not used: \(DatabaseError(error))")
      }
    }
    return nil
  }

  /// Opens a checkpoint; nil if a file that it depends on is missing.
  static func open(
    _ number: UInt64, among files: Set<FileName>, in directory: StoreDirectory, isMapped: Bool,
    nodeSize: Int, innerPages: InnerPageCheck
  ) throws(LogError) -> Usable? {
    let file = try CheckpointFile.open(number, in: directory, isMapped: isMapped)
    let checkpoint = try Checkpoint(of: file)
    guard checkpoint.trees.count <= Version.trees.count,
      let chain = try SegmentChain.choose(
        from: files, in: directory, members: checkpoint.members.map(\.segment),
        isMapped: isMapped)
    else { return nil }
    // The log after the checkpoint is replayed without index lookups, so it must be as it was
    // written: a compaction leaves out records that name the records that they supersede.
    guard
      !chain.segments.contains(where: {
        $0.header.compaction != nil
          && $0.header.numbers.lowerBound > checkpoint.position.segmentNumber
      })
    else { return nil }
    guard
      let runs = try checkpoint.openRuns(
        file, among: files, in: directory, isMapped: isMapped, innerPages)
    else { return nil }
    var state = checkpoint.version(nodeSize: nodeSize, runs: runs, segments: chain.segments)
    do throws(PageError) {
      // Opening needs only this part of the pages. If a page of it is damaged, the checkpoint is of
      // no use, because leaves are rebuilt only once there is a store.
      let (indexes, damage) = try state.readIndexes(file.path)
      state.indexes = indexes
      return Usable(checkpoint: checkpoint, chain: chain, state: state, damage: damage)
    } catch {
      // The page may be an inner one, and then others are doubtful, too.
      if innerPages == .deferred {
        return try open(
          number, among: files, in: directory, isMapped: isMapped, nodeSize: nodeSize,
          innerPages: .rebuilding)
      }
      if case .unreadable(_, let error) = error { throw .system(error) }
      throw .damaged(Damage(path: file.path, offset: 0, reason: "a page of the index: \(error)"))
    }
  }

  /// A checkpoint's file with runs in use.
  private struct OpenedFile {
    let file: CheckpointFile
    /// Its own directory; nil if that is damaged, which does not prevent the use of its runs.
    let directory: Checkpoint?
  }

  /// Opens the runs of each tree; nil if a file that they are in is missing.
  private func openRuns(
    _ file: CheckpointFile, among files: Set<FileName>, in directory: StoreDirectory,
    isMapped: Bool, _ innerPages: InnerPageCheck
  ) throws(LogError) -> [[Run]]? {
    var opened = [OpenedFile(file: file, directory: self)]
    var runs: [[Run]] = []
    for locators in trees {
      var tree: [Run] = []
      for locator in locators {
        if !opened.contains(where: { $0.file.header.number == locator.checkpoint }) {
          guard files.contains(.checkpoint(locator.checkpoint)) else { return nil }
          let older = try CheckpointFile.open(
            locator.checkpoint, in: directory, isMapped: isMapped)
          opened.append(OpenedFile(file: older, directory: try? Checkpoint(of: older)))
        }
        guard let used = opened.first(where: { $0.file.header.number == locator.checkpoint }),
          used.file.header.preamble.salt == locator.salt,
          let run = try? Run(
            CheckpointPages.source(of: used.file), locator.summary,
            firstPage: used.directory?.firstPage(
              of: locator.summary, pageSize: used.file.pageSize), commit: locator.commit)
        else { return nil }
        do throws(PageError) {
          switch innerPages {
          case .refusing: try run.checkInnerPages()
          case .rebuilding: try run.requireInnerPages()
          case .deferred: break
          }
        } catch {
          throw .damaged(
            Damage(path: used.file.path, offset: 0, reason: "a page of the index: \(error)"))
        }
        tree.append(run)
      }
      runs.append(tree)
    }
    return runs
  }

  /// Returns the version that the checkpoint has, without its indexes of documents.
  private func version(nodeSize: Int, runs: [[Run]], segments: [Segment]) -> Version {
    var state = Version(nodeSize: nodeSize, runs: runs)
    state.documentCount = documentCount
    state.lastSequence = lastSequence
    state.immutableSequence = lastSequence
    state.commit = position.end.commit
    state.historyHorizon = historyHorizon
    state.time = time
    for segment in segments {
      guard let member = members.first(where: { $0.segment.fileID == segment.fileID })
      else { continue }
      state.segments.update(segment)
      state.segments.setUsage(member.usage, of: segment.fileID)
    }
    return state
  }

  /// Reads a checkpoint's directory, without opening the files that it depends on.
  private init(of file: CheckpointFile) throws(LogError) {
    let bytes = try file.directory()
    do throws(ByteError) {
      self = try Checkpoint.decode(bytes, number: file.header.number)
    } catch {
      throw .damaged(
        Damage(path: file.path, offset: file.header.directoryOffset, reason: error.reason))
    }
  }
}

extension Checkpoint.Member {
  fileprivate static func decode(_ reader: inout ByteReader) throws(ByteError) -> Self {
    let first = try reader.readVarint()
    let last = try reader.readVarint()
    guard first <= last else {
      throw ByteError(offset: reader.offset, reason: "segment numbers in the wrong order")
    }
    let segment = SegmentChain.Member(
      numbers: first...last, fileID: try reader.readVarint(), salt: try reader.read(UInt64.self))
    return Self(
      segment: segment,
      usage: .init(total: try reader.readVarint(), dead: try reader.readVarint()))
  }
}

extension Checkpoint.RunLocator {
  fileprivate static func decode(_ reader: inout ByteReader) throws(ByteError) -> Self {
    let number = try reader.readVarint()
    let salt = try reader.read(UInt64.self)
    let commit = try reader.readVarint()
    let root = UInt32(try reader.readCount(limit: Int(UInt32.max)))
    let height = try reader.readCount(limit: Run.heightLimit)
    let count = try reader.readCount(limit: Int.max)
    let filter = BloomFilter(
      firstPage: UInt32(try reader.readCount(limit: Int(UInt32.max))),
      blockCount: UInt32(try reader.readCount(limit: Int(UInt32.max))))
    return Self(
      checkpoint: number, salt: salt, commit: commit,
      summary: RunSummary(root: root, height: height, count: count, filter: filter))
  }
}
