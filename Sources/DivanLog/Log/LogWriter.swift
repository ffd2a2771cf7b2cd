/// Appends transactions to the log, a segment at a time.
///
/// Invariants:
/// - Only the segment that this writer made is appended to, and only at its end.
/// - A transaction never spans segments.
/// - After the end of the log there are only zeros in the file, at most
///   ``Segment/preallocationLimit``, unless a write has failed: then nothing more follows in it. A
///   write of zeros that fails for lack of space leaves fewer zeros, and counts as none.
/// - Once a flush of appended bytes has failed, ``LogTail/isPoisoned`` stays true and nothing more
///   is written: the system may show bytes that never reached the medium.
///
/// It is not copyable: two writers would append at the same offset. Other threads use ``tail``.
package struct LogWriter: ~Copyable, Sendable {
  package struct Settings: Sendable {
    /// A segment gets a successor once it has grown to this many bytes.
    package var segmentSizeGoal: Int
    package var isMapped: Bool
    /// The number of sequence numbers that are reserved ahead.
    package var sequenceReserve: UInt64
    /// The approximate limit of durable log without durable evidence outside the segment, in bytes.
    package var unwitnessedLimit: Int
    /// Milliseconds since 1970.
    package var now: @Sendable () -> UInt64
    package var random: @Sendable () -> UInt64

    package init(
      segmentSizeGoal: Int, isMapped: Bool, sequenceReserve: UInt64,
      unwitnessedLimit: Int = 1 << 20,
      now: @escaping @Sendable () -> UInt64, random: @escaping @Sendable () -> UInt64
    ) {
      self.segmentSizeGoal = segmentSizeGoal
      self.isMapped = isMapped
      self.sequenceReserve = sequenceReserve
      self.unwitnessedLimit = unwitnessedLimit
      self.now = now
      self.random = random
    }
  }

  /// The end of the log that a writer continues.
  package struct Start: Sendable {
    package var segmentNumber: UInt64
    package var segmentSalt: UInt64
    package var end: LogEnd
    package var nextFileID: UInt64
    package var lastSequence: UInt64
    package var sequenceBound: UInt64
    /// Whether `HEAD` says that the log was closed at exactly this end.
    package var isClosed: Bool

    package init(
      segmentNumber: UInt64, segmentSalt: UInt64, end: LogEnd, nextFileID: UInt64,
      lastSequence: UInt64, sequenceBound: UInt64, isClosed: Bool
    ) {
      self.segmentNumber = segmentNumber
      self.segmentSalt = segmentSalt
      self.end = end
      self.nextFileID = nextFileID
      self.lastSequence = lastSequence
      self.sequenceBound = sequenceBound
      self.isClosed = isClosed
    }

    /// Whether enough numbers are left to continue.
    package var isWithinLimits: Bool {
      [segmentNumber, end.offset, end.commit, nextFileID, lastSequence, sequenceBound]
        .allSatisfy { $0 <= LogWriter.startLimit }
    }

    /// The start of a log that does not exist yet.
    package static let empty = Start(
      segmentNumber: 0, segmentSalt: 0, end: LogEnd(offset: 0, commit: 0, chain: 0), nextFileID: 1,
      lastSequence: 0, sequenceBound: 0, isClosed: true)
  }

  /// The largest number that a writer begins with.
  ///
  /// It keeps counters from reaching ``counterLimit``, beyond which readers refuse them.
  package static let startLimit = counterLimit - 1 << 50

  private let directory: StoreDirectory
  private let settings: Settings
  private let storeID: StoreID
  package let tail: LogTail
  private let marks: FlushMarks
  /// The segment that is appended to; its `end` is the end of the log.
  ///
  /// Nil until the first commit.
  package private(set) var active: Segment?
  /// The newest segment, and how the log ends if there is no active one.
  private var last: (number: UInt64, salt: UInt64, end: LogEnd)
  private var nextFileID: UInt64
  /// Whether nothing more may be appended to the active segment.
  private var isEnded = false
  /// The offset in the active segment up to which its file has zeros after the end of the log.
  private var preallocatedEnd: UInt64 = 0
  /// Whether `HEAD` names an older segment than the newest, because replacing it failed.
  private var isHeadBehind = false
  /// Whether `HEAD` says that the log was closed at its end.
  private var isHeadClosed: Bool
  package private(set) var lastSequence: UInt64
  /// The time of the last commit, in milliseconds since 1970.
  package private(set) var lastTime: UInt64 = 0

  /// The active segment is mapped again when it has grown by this many bytes.
  private static let mappingStep = 1 << 20

  package init(
    _ directory: StoreDirectory, storeID: StoreID, settings: Settings, continuing start: Start
  ) {
    self.directory = directory
    self.storeID = storeID
    self.settings = settings
    marks = FlushMarks(in: directory, limit: settings.unwitnessedLimit)
    tail = LogTail(sequenceBound: start.sequenceBound, marks: marks)
    last = (start.segmentNumber, start.segmentSalt, start.end)
    nextFileID = start.nextFileID
    lastSequence = start.lastSequence
    isHeadClosed = start.isClosed
  }
}

extension LogWriter {
  /// The end of the log.
  package var end: LogEnd { active?.end ?? last.end }

  /// Ensures that there is a segment to append to; returns where the next transaction begins.
  package mutating func prepare() throws(LogError) -> (fileID: UInt64, offset: Int) {
    if let active, !isEnded, active.end.offset < UInt64(settings.segmentSizeGoal) {
      if isHeadBehind { try replaceHead(isClosed: false) }
    } else {
      try rotate()
    }
    guard let active else { preconditionFailure("Rotation leaves an active segment") }
    return (active.fileID, Int(active.end.offset))
  }

  /// Continues at a time that is not before the last commit's.
  package mutating func resume(time: UInt64) { lastTime = max(lastTime, time) }

  /// Returns a number for a segment, which no other segment gets.
  ///
  /// No other segment gets it even if making the segment fails: the file may exist nevertheless.
  package mutating func takeFileID() -> UInt64 {
    defer { nextFileID += 1 }
    return nextFileID
  }

  /// Appends a transaction, which must have begun where ``prepare()`` said.
  ///
  /// After an error, the segment ends before it. Its commit did not happen, unless all its bytes
  /// may be in the file: then the tail reports the error to all that follows, and the next opening
  /// finds out.
  package mutating func append(
    _ buffer: inout TransactionBuffer, lastSequence: UInt64, documentCount: UInt64
  ) throws(LogError) {
    guard let segment = active else { preconditionFailure("append() needs prepare()") }
    try reserveSequences(through: lastSequence)
    lastTime = max(lastTime, settings.now())
    let trailer = CommitTrailer(
      frameCount: 0, recordCount: 0, lastSequence: lastSequence,
      sequenceBound: max(tail.highestBound, lastSequence + settings.sequenceReserve),
      flushedThrough: tail.flushedEnd(in: segment.fileID)?.offset ?? UInt64(SegmentHeader.size),
      // A forged file may have brought in larger numbers, with which readers refuse the trailer.
      time: min(lastTime, counterLimit), documentCount: min(documentCount, counterLimit))
    let end = buffer.finish(
      after: segment.end, salt: segment.header.preamble.salt, trailer: trailer)
    do throws(SystemError) {
      try buffer.write(to: segment.file.file)
    } catch {
      // An unknown part of it may be in the file, so nothing may follow there.
      isEnded = true
      if isWhole(segment, through: end) { tail.poison(error) }
      throw .system(error)
    }
    preallocate(in: segment, after: end)
    active = Segment(
      file: segment.file, mapped: try mapping(of: segment, through: end), end: end)
    self.lastSequence = lastSequence
    tail.noteAppended(
      LogTail.Point(
        file: segment.file.file, fileID: segment.fileID, end: end,
        sequenceBound: trailer.sequenceBound))
  }

  /// Whether a transaction may be whole in the file although writing it failed.
  ///
  /// The next opening would then find it, so this must not report that nothing was committed.
  private func isWhole(_ segment: Segment, through end: LogEnd) -> Bool {
    var transactions = TransactionReader(segment, from: segment.end, limit: Int(end.offset))
    do {
      guard case .transaction(let found) = try transactions.next() else { return false }
      return found.end == end
    } catch {
      return true
    }
  }

  /// Writes zeros after the end of the log, if the transactions of this segment are flushed often.
  ///
  /// A transaction that replaces zeros leaves the file's size as it is. Its flush then writes the
  /// transaction alone, and not the file's size and the location of its last block.
  /// FILE_FORMAT.md §3
  private mutating func preallocate(in segment: Segment, after end: LogEnd) {
    // Not before as many bytes are in use, so that the file of a short session stays small.
    let count = min(Segment.preallocationLimit, settings.segmentSizeGoal / 4)
    guard end.offset > preallocatedEnd, Int(end.offset) >= SegmentHeader.size + count,
      let flushed = tail.flushedEnd(in: segment.fileID)?.offset,
      flushed > segment.header.flushedSize, end.offset - flushed <= UInt64(count)
    else { return }
    var zeros = ByteWriter(capacity: count)
    zeros.appendZeros(count)
    do throws(SystemError) {
      try segment.file.file.write(zeros, at: Int(end.offset))
      preallocatedEnd = end.offset + UInt64(count)
    } catch {
      // Without them, the file grows with each transaction. If there is no space for them, there
      // may still be some for a transaction. After any other failure, nothing may follow.
      isEnded = !error.isLackOfSpace
    }
  }

  /// Returns the map of a segment that has grown, made larger if that pays.
  private func mapping(of segment: Segment, through end: LogEnd) throws(LogError) -> SharedBytes {
    guard settings.isMapped, Int(end.offset) - segment.mapped.count >= LogWriter.mappingStep else {
      return segment.mapped
    }
    // If the system has no room for the map, reads work without it.
    return (try? segment.file.file.map(Int(end.offset))) ?? segment.mapped
  }

  /// Ensures that sequence numbers up to `sequence` may be used: that the bound is durable.
  private mutating func reserveSequences(through sequence: UInt64) throws(LogError) {
    guard sequence > tail.sequenceBound else { return }
    try replaceHead(isClosed: false, sequenceBound: sequence + settings.sequenceReserve)
  }

  /// Flushes the active segment and begins its successor.
  private mutating func rotate() throws(LogError) {
    _ = try tail.flush()
    try begin()
  }

  /// Transactions that an earlier writer left in doubt, to be reappended.
  package struct Reappend {
    /// The segment that they are in, through their end.
    package let segment: Segment
    /// The end of the transactions that are proven durable, which stay where they are.
    package let proven: LogEnd

    package init(_ segment: Segment, after proven: LogEnd) {
      self.segment = segment
      self.proven = proven
    }

    var size: UInt64 { segment.end.offset - proven.offset }
  }

  /// Makes the next segment under its name, whole or not at all, and names it in `HEAD`.
  package mutating func begin(reappending reappend: Reappend? = nil) throws(LogError) {
    let predecessor = reappend?.proven ?? self.end
    let number = last.number + 1
    let fileID = takeFileID()
    let name = FileName.segment(number...number)
    let header = SegmentHeader(
      preamble: FilePreamble(
        kind: .segment, storeID: storeID, salt: settings.random(), createdAt: settings.now(),
        keyID: directory.keyID),
      fileID: fileID, numbers: number...number, generation: 0, predecessor: predecessor,
      lastSequence: lastSequence,
      sequenceBound: max(tail.highestBound, lastSequence + settings.sequenceReserve),
      flushedSize: UInt64(SegmentHeader.size) + (reappend?.size ?? 0), compaction: nil)
    let block = header.encode()
    let chain = SegmentHeader.chain(of: block)
    let encryption = try directory.encryption(header.preamble, path: directory.path(of: name))
    var end = LogEnd(offset: UInt64(SegmentHeader.size), commit: predecessor.commit, chain: chain)
    let begun = end
    let file: any OpenFile
    do throws(LogError) {
      file = try directory.install(name) { (file) throws(LogError) in
        try attempt { () throws(SystemError) in try file.write(block, at: 0) }
        if let reappend {
          end = try LogWriter.copy(
            reappend, to: file, after: begun, salt: header.preamble.salt, encryption)
        }
      }
    } catch {
      noteFailure(error, toMake: name)
      throw error
    }
    last = (number, header.preamble.salt, end)
    preallocatedEnd = 0
    let segmentFile = SegmentFile(
      name: name, path: directory.path(of: name), header: header, headerChain: chain, file: file,
      encryption: encryption)
    active = Segment(file: segmentFile, mapped: .empty, end: end)
    isEnded = false
    marks.begin(header, at: end)
    tail.noteFlushed(
      LogTail.Point(
        file: file, fileID: header.fileID, end: end, sequenceBound: header.sequenceBound))
    isHeadBehind = true
    isHeadClosed = false
    try replaceHead(isClosed: false)
  }

  /// Ends all writing if another segment of this name may not be made.
  private func noteFailure(_ error: LogError, toMake name: FileName) {
    // If the directory could not be flushed, it may or may not contain the name: no other segment
    // of this number may be made.
    guard case .system(let failure) = error, failure.path == directory.path else { return }
    // If the directory could not even be opened, nothing was flushed or lost. The segment, in which
    // nothing was committed, is removed, and the next attempt makes it.
    if !failure.isLackOfDescriptors || (try? directory.remove(name)) == nil {
      tail.poison(failure)
    }
  }

  /// Copies transactions into a new segment, with the same commit numbers and new frame headers.
  private static func copy(
    _ reappend: Reappend, to file: any OpenFile, after begun: LogEnd, salt: UInt64,
    _ encryption: FileEncryption?
  ) throws(LogError) -> LogEnd {
    var end = begun
    var frames = FrameReader(
      reappend.segment, from: reappend.proven, limit: Int(reappend.segment.end.offset))
    var writer = ByteWriter(capacity: TransactionBuffer.frameSizeGoal)
    while case .frame(var header, _, let payload) = try frames.next() {
      writer.removeAll()
      writer.appendZeros(FrameHeader.size)
      try append(payload, header, of: reappend.segment, to: &writer, encryption)
      if header.flags.contains(.last), var trailer = CommitTrailer.decode(endOf: payload) {
        // The promise was about another file.
        trailer.flushedThrough = UInt64(SegmentHeader.size)
        writer.truncate(to: writer.count - CommitTrailer.size)
        trailer.encode(to: &writer)
      }
      writer.pad(to: FrameHeader.alignment)
      var check = CRC32C()
      check.add(writer, in: FrameHeader.size..<writer.count)
      header.payloadChecksum = check.checksum
      header.chain = end.chain
      let offset = end.offset
      end.chain = header.encode(into: &writer, at: 0, offset: Int(offset), salt: salt)
      end.offset += UInt64(writer.count)
      end.commit = header.commit
      do throws(SystemError) {
        try file.write(writer, at: Int(offset))
      } catch {
        throw .system(error)
      }
    }
    guard end.offset - begun.offset == reappend.size, end.commit == reappend.segment.end.commit
    else {
      // Recovery has just found the same bytes sound.
      throw .damaged(
        Damage(
          path: reappend.segment.file.path, offset: frames.offset,
          reason: "the transactions to reappend have changed since they were read"))
    }
    return end
  }

  /// Appends the payload of a frame of another segment.
  ///
  /// The records are copied, or sealed with the key of this segment, which keeps their sizes.
  private static func append(
    _ payload: SharedBytes, _ header: FrameHeader, of segment: Segment,
    to writer: inout ByteWriter, _ encryption: FileEncryption?
  ) throws(LogError) {
    guard segment.file.encryption?.keyID != encryption?.keyID else { return writer.append(payload) }
    let trailerSize = header.flags.contains(.last) ? CommitTrailer.size : 0
    let records = payload.prefix(max(0, payload.count - trailerSize))
    var reader = RecordReader(records, at: 0, encryptedBy: segment.file.encryption)
    do throws(ByteError) {
      while let (record, _, _) = try reader.next() {
        _ = Record.append(kind: record.kind, to: &writer, encryptedBy: encryption) {
          $0.append(record.payload)
        }
      }
    } catch {
      throw .damaged(Damage(path: segment.file.path, offset: 0, reason: error.reason))
    }
    writer.append(payload.suffix(from: records.count))
  }

  /// States in `HEAD` that the log was closed, unless it says so already.
  ///
  /// Everything must be flushed.
  package mutating func noteClosed() throws(LogError) {
    if !isHeadClosed { try replaceHead(isClosed: true) }
  }

  /// Replaces `HEAD`, which states the durable end of the log and the reserved sequence numbers.
  package mutating func replaceHead(isClosed: Bool, sequenceBound: UInt64 = 0) throws(LogError) {
    let watermark = active.flatMap { tail.flushedEnd(in: $0.fileID) } ?? last.end
    let bound = max(tail.highestBound, sequenceBound)
    let head = Head(
      preamble: FilePreamble(
        kind: .head, storeID: storeID, salt: settings.random(), createdAt: settings.now()),
      segmentNumber: last.number, segmentSalt: last.salt, watermark: watermark,
      lastSequence: lastSequence, sequenceBound: bound, isClosed: isClosed)
    if !isClosed { marks.makeFile(through: watermark) }
    try directory.replaceHead(head)
    marks.noteHead(head)
    tail.raiseSequenceBound(to: bound)
    isHeadBehind = false
    isHeadClosed = isClosed
  }
}
