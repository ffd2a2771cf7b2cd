import Divan
import DivanLog

/// The log of a store as `logdump` reads it: the files, which of them count, and how it ends.
struct OpenedLog {
  let directory: StoreDirectory
  /// All files of the store by name; `foreign` are the other names in its directory.
  let files: Set<FileName>
  let foreign: [String]
  let head: Head?
  /// The reason why `HEAD` cannot be read, if there is one.
  let headProblem: LogError?
  /// The marks in `FLUSHED`; none if there is no such file.
  let marks: [FlushMark]
  /// The reason why `FLUSHED` cannot be read, if there is one.
  let marksProblem: LogError?
  var chain: SegmentChain
  /// The decision on where the log ends; nil if there are no segments.
  var recovery: LogRecovery?
  /// The newest checkpoint that can be used, if there is one.
  var checkpoint: InspectedCheckpoint?
  /// The evidence of newer checkpoints that cannot be used, each with the store that it names.
  private var evidence: [(StoreID, LogRecovery.Watermark)] = []

  var segments: [Segment] { chain.segments }

  /// The segment that commits were last appended to.
  var last: Segment? { chain.segments.last }

  /// All damage that is known without reading the whole log.
  var damage: [Damage] { chain.damage + (recovery?.damage.map { [$0] } ?? []) }

  /// The bytes at the end of the log that belong to no whole transaction, unless they are damage.
  var tornTail: Range<Int>? { damage.isEmpty ? recovery?.discarded : nil }

  /// Whether the store was closed, and has not changed since.
  var isClosed: Bool {
    guard let head, let last, let recovery else { return false }
    return head.isClosed && head.segmentNumber == last.header.numbers.upperBound
      && (head.watermark == recovery.end || last.header.compaction != nil)
      && recovery.discarded == nil
  }
}

extension OpenedLog {
  /// Opens the files of a store as they are now.
  static func open(_ path: String, on fileSystem: any FileSystem) throws(LogError) -> OpenedLog {
    // A file may disappear after it is listed and before it is opened, when a compacted one
    // replaces it.
    for _ in 0..<8 {
      do throws(LogError) {
        return try OpenedLog(path, on: fileSystem)
      } catch {
        guard case .system(let failure) = error, failure.code == .notFound, failure.path != path
        else { throw error }
      }
    }
    return try OpenedLog(path, on: fileSystem)
  }

  private init(_ path: String, on fileSystem: any FileSystem) throws(LogError) {
    directory = StoreDirectory(path, on: fileSystem)
    // Before the files are listed: an active writer writes the evidence after the log.
    (head, headProblem) = try directory.head()
    (marks, marksProblem) = try directory.flushMarks()
    (files, foreign) = try directory.listing()
    guard files.contains(where: { $0.isSegment }) else {
      // A name alone proves nothing: another program may have made a file `LOCK`.
      guard try directory.isStore() else {
        throw .foreign(path: path, reason: "there is no store here")
      }
      chain = SegmentChain(segments: [], leftovers: [], damage: [])
      let loss = try directory.lossOfSegments(
        among: files, hasHead: head != nil || headProblem != nil,
        hasMarks: !marks.isEmpty || marksProblem != nil)
      if let loss { chain.damage.append(loss) }
      return
    }
    (checkpoint, evidence) = try InspectedCheckpoint.newest(among: files, in: directory)
    // The segments are chosen without the checkpoint, like by a reader that has none.
    chain =
      try SegmentChain.choose(from: files, in: directory, isMapped: false)
      ?? SegmentChain(segments: [], leftovers: [], damage: [])
    guard let last = chain.segments.last else {
      if chain.damage.isEmpty {
        chain.damage.append(
          Damage(path: path, offset: 0, reason: "no segment of the store can be read"))
      }
      return
    }
    let found = try recover(last)
    recovery = found
    let index = chain.segments.count - 1
    chain.segments[index].end = found.end
    if found.damage != nil {
      // The sound bytes after damage are read, too.
      chain.segments[index].end.offset = UInt64(try last.dataEnd(after: found.end))
    }
  }

  /// Decides how the log ends. FILE_FORMAT.md §8
  private func recover(_ last: Segment) throws(LogError) -> LogRecovery {
    var watermarks: [LogRecovery.Watermark] = []
    if let head { watermarks.append(LogRecovery.Watermark(head, about: last)) }
    watermarks += marks.compactMap { LogRecovery.Watermark($0, about: last) }
    if let checkpoint {
      watermarks.append(
        LogRecovery.Watermark(
          commit: checkpoint.end.commit,
          offset: checkpoint.fileID == last.fileID ? checkpoint.end.offset : 0,
          witness: "the checkpoint"))
    }
    // The files that such a checkpoint depends on are gone, and perhaps the end of the log with
    // them.
    let storeID = last.header.preamble.storeID
    watermarks += evidence.filter { $0.0 == storeID }.map(\.1)
    watermarks += chain.segments.compactMap { LogRecovery.Watermark(ofCompaction: $0.header) }
    guard last.header.compaction == nil else {
      var recovery = LogRecovery(endingAsStated: last)
      if let watermark = watermarks.first(where: { $0.commit > last.end.commit }) {
        recovery.damage = Damage(
          path: directory.path, offset: 0,
          reason:
            "\(watermark.witness) shows that the log was durable through commit \(watermark.commit)"
        )
      }
      return recovery
    }
    return try LogRecovery.examine(last, from: nil, watermarks: watermarks)
  }
}

extension OpenedLog {
  /// Returns the segments that are in no chain because their headers cannot be read.
  ///
  /// They get headers from the facts that are still known, and can be searched for records.
  func unreadableSegments() throws(LogError) -> [Segment] {
    var found: [Segment] = []
    for numbers in files.segmentRanges {
      let name = FileName.segment(numbers)
      guard !chain.leftovers.contains(name),
        !segments.contains(where: { $0.file.name == name })
      else { continue }
      let path = directory.path(of: name)
      do throws(LogError) {
        let (file, block) = try attempt { () throws(SystemError) in
          let file = try directory.fileSystem.open(path, .reading)
          return (file, try file.read(SegmentHeader.size, at: 0))
        }
        let nothing = LogEnd(offset: 0, commit: 0, chain: 0)
        let header = SegmentHeader(
          preamble: FilePreamble(
            kind: .segment, storeID: StoreID(high: 0, low: 0),
            salt: block.count >= 48 ? block.load(UInt64.self, at: 40) : 0, createdAt: 0),
          fileID: 0, numbers: numbers, generation: 0, predecessor: nothing, lastSequence: 0,
          sequenceBound: 0, flushedSize: 0, compaction: nil)
        // Bytes after the end that the next segment states never counted.
        let successor = segments.first {
          numbers.upperBound < .max && $0.header.numbers.lowerBound == numbers.upperBound + 1
        }
        var segment = Segment(
          file: SegmentFile(
            name: name, path: path, header: header,
            headerChain: SegmentHeader.chain(of: block), file: file, encryption: nil),
          mapped: .empty, end: nothing)
        let size = UInt64(try segment.dataEnd(after: nothing))
        segment.end.offset = min(size, successor?.header.predecessor.offset ?? size)
        found.append(segment)
      } catch .system(let error) where error.code == .notFound {
        // A compacted segment has replaced it meanwhile.
      }
    }
    return found
  }
}

/// Runs `body`; returns nil if that finds that a file is gone.
///
/// A checkpoint or a compaction of a store in use may have replaced it since the files were listed.
@discardableResult
func unlessGone<Result>(_ body: () throws -> Result) throws -> Result? {
  do {
    return try body()
  } catch LogError.system(let error) where error.code == .notFound {
    return nil
  } catch let error as SystemError where error.code == .notFound {
    return nil
  }
}

extension FileName {
  var isSegment: Bool { if case .segment = self { true } else { false } }
}

extension Set<FileName> {
  var checkpointNumbers: [UInt64] {
    compactMap { if case .checkpoint(let number) = $0 { number } else { nil } }.sorted()
  }

  /// The files of views, by name.
  var views: [FileName] { filter { if case .view = $0 { true } else { false } }.sorted() }

  /// The ranges of all segments, in order; of overlapping ones the widest first.
  var segmentRanges: [ClosedRange<UInt64>] {
    compactMap { if case .segment(let numbers) = $0 { numbers } else { nil } }
      .sorted { ($0.lowerBound, $1.upperBound) < ($1.lowerBound, $0.upperBound) }
  }
}

extension Segment {
  /// Returns the offset after the last byte that may belong to a frame; only zeros follow.
  ///
  /// A frame can end with zeros, so some of them may be included.
  fileprivate func dataEnd(after end: LogEnd) throws(LogError) -> Int {
    let size = try attempt { () throws(SystemError) in try file.file.size() }
    guard let bytes = try bytes(after: end, size: size) else { return Int(clamping: end.offset) }
    return min(size, FrameHeader.padded(bytes.upperBound) + FrameHeader.alignment)
  }
}
