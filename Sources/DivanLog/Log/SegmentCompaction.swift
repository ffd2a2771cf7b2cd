/// Writes the live records of adjacent segments to one new segment, in their order.
///
/// A compaction is a function from files to a file. It never appends to the log, so it does not
/// slow commits, and "the last record of a key wins" stays true. It verifies the checksums and
/// stops at damage, which is never copied under a new checksum. RECOVERY.md, rules 1, 4, 10 and 17.
package struct SegmentCompaction: ~Copyable {
  private let file: any OpenFile
  private let salt: UInt64
  private let encryption: FileEncryption?
  private var writer = ByteWriter(capacity: TransactionBuffer.frameSizeGoal + (1 << 16))
  private var offset = SegmentHeader.size
  private var chain: UInt32
  private var recordCount: UInt64 = 0
  private var commit: UInt64 = 0
  private var markedCommit: UInt64 = 0
}

extension SegmentCompaction {
  /// The parameters of a compaction.
  package struct Order {
    package var inputs: [Segment]
    package var fileID: UInt64
    package var salt: UInt64
    package var now: UInt64
    /// The commit of the index by which `keep` decides.
    package var evaluatedAt: UInt64
    package var releasedThrough: UInt64
    package var isMapped: Bool

    package init(
      inputs: [Segment], fileID: UInt64, salt: UInt64, now: UInt64, evaluatedAt: UInt64,
      releasedThrough: UInt64, isMapped: Bool
    ) {
      self.inputs = inputs
      self.fileID = fileID
      self.salt = salt
      self.now = now
      self.evaluatedAt = evaluatedAt
      self.releasedThrough = releasedThrough
      self.isMapped = isMapped
    }

    /// Returns the header of the output, without what is known once it is written.
    fileprivate func header(
      from oldest: SegmentHeader, to newest: SegmentHeader, keyID: UInt64
    ) -> SegmentHeader {
      SegmentHeader(
        preamble: FilePreamble(
          kind: .segment, storeID: oldest.preamble.storeID, salt: salt, createdAt: now,
          keyID: keyID),
        fileID: fileID, numbers: oldest.numbers.lowerBound...newest.numbers.upperBound,
        // Only a forged header contains a number that has no successor.
        generation: max(1, inputs.map(\.header.generation).reduce(0, max) &+ 1),
        predecessor: oldest.predecessor, lastSequence: newest.lastSequence,
        sequenceBound: inputs.map(\.header.sequenceBound).reduce(0, max), flushedSize: 0,
        compaction: nil)
    }
  }

  /// Writes the compacted segment.
  ///
  /// `keep` returns whether a record is live. `flushLog` makes the commit durable by which `keep`
  /// decided; it is called after the output is flushed and before it gets its name.
  package static func run(
    _ order: Order, in directory: StoreDirectory,
    keep: (RecordScan.Entry) throws(LogError) -> Bool,
    flushLog: () throws(LogError) -> Void
  ) throws(LogError) -> Segment {
    guard let oldest = order.inputs.first, let newest = order.inputs.last else {
      preconditionFailure("A compaction needs inputs")
    }
    var header = order.header(from: oldest.header, to: newest.header, keyID: directory.keyID)
    let name = FileName.segment(header.numbers)
    let end = newest.header.compaction?.end ?? newest.end
    let encryption = try directory.encryption(header.preamble, path: directory.path(of: name))
    let file = try directory.install(name, beforeRename: flushLog) { (file) throws(LogError) in
      var compaction = SegmentCompaction(
        file: file, salt: order.salt, encryption: encryption,
        chain: SegmentHeader.chain(of: header.encode()))
      for input in order.inputs {
        let last = try compaction.copy(input, keep: keep)
        header.lastSequence = max(header.lastSequence, last.sequence)
        header.sequenceBound = max(header.sequenceBound, last.bound)
      }
      try compaction.finish()
      header.flushedSize = UInt64(compaction.offset)
      header.compaction = SegmentHeader.Compaction(
        evaluatedAt: order.evaluatedAt,
        releasedThrough: order.inputs.compactMap(\.header.compaction?.releasedThrough)
          .reduce(order.releasedThrough, max),
        end: end, fileSize: UInt64(compaction.offset))
      let block = header.encode()
      try attempt { () throws(SystemError) in try file.write(block, at: 0) }
    }
    let segmentFile = SegmentFile(
      name: name, path: directory.path(of: name), header: header,
      headerChain: SegmentHeader.chain(of: header.encode()), file: file, encryption: encryption)
    let size = Int(header.flushedSize)
    let mapped =
      order.isMapped
      ? try attempt { () throws(SystemError) in try file.map(size) } : SharedBytes.empty
    return Segment(
      file: segmentFile, mapped: mapped,
      end: LogEnd(offset: UInt64(size), commit: end.commit, chain: end.chain))
  }

  private init(file: any OpenFile, salt: UInt64, encryption: FileEncryption?, chain: UInt32) {
    self.file = file
    self.salt = salt
    self.encryption = encryption
    self.chain = chain
    writer.appendZeros(FrameHeader.size)
  }

  private mutating func copy(
    _ input: Segment, keep: (RecordScan.Entry) throws(LogError) -> Bool
  ) throws(LogError) -> (sequence: UInt64, bound: UInt64) {
    var scan = RecordScan(input)
    var last: (sequence: UInt64, bound: UInt64) = (0, 0)
    while true {
      switch try scan.next() {
      case .record(let entry):
        if try keep(entry) { try append(entry, from: input) }
      case .commit(_, let trailer):
        last = (trailer.lastSequence, max(last.bound, trailer.sequenceBound))
      case .damage(let damage):
        throw .damaged(damage)
      case .end:
        return last
      }
    }
  }

  private mutating func append(
    _ entry: RecordScan.Entry, from input: Segment
  ) throws(LogError) {
    if writer.count >= TransactionBuffer.frameSizeGoal { try endFrame(.compacted) }
    if markedCommit != entry.commit || writer.count == FrameHeader.size {
      _ = Record.append(kind: .commitMark, to: &writer, encryptedBy: encryption) {
        $0.appendVarint(entry.commit)
        $0.appendVarint(entry.time)
      }
      markedCommit = entry.commit
    }
    commit = entry.commit
    recordCount += 1
    guard input.file.encryption?.keyID == encryption?.keyID else {
      // The store has got another key, and what is copied is to be sealed with that.
      _ = Record.append(kind: entry.record.kind, to: &writer, encryptedBy: encryption) {
        $0.append(entry.record.payload)
      }
      return
    }
    writer.append(
      try input.bytes(Int(entry.locator.size), at: Int(clamping: entry.locator.offset)))
  }

  private mutating func finish() throws(LogError) {
    if writer.count > FrameHeader.size { try endFrame(.compacted) }
    writer.append(recordCount)
    try endFrame(.footer)
  }

  /// Writes the current frame, and begins another.
  private mutating func endFrame(_ kind: FrameHeader.Kind) throws(LogError) {
    let size = writer.count - FrameHeader.size
    writer.pad(to: FrameHeader.alignment)
    var check = CRC32C()
    check.add(writer, in: FrameHeader.size..<writer.count)
    let header = FrameHeader(
      kind: kind, flags: [], payloadSize: size, payloadChecksum: check.checksum, commit: commit,
      chain: chain)
    chain = header.encode(into: &writer, at: 0, offset: offset, salt: salt)
    do throws(SystemError) {
      try file.write(writer, at: offset)
    } catch {
      throw .system(error)
    }
    offset += writer.count
    writer.removeAll()
    writer.appendZeros(FrameHeader.size)
  }
}
