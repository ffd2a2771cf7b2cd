/// Reads all records of a segment in order, also of one that a compaction made.
package struct RecordScan {
  package struct Entry: Sendable {
    package let record: Record
    package let locator: RecordLocator
    package let commit: UInt64
    /// Milliseconds since 1970, from the commit.
    package let time: UInt64
    /// Whether the transaction or the frame that contains the record is whole.
    package let isOfWhole: Bool
    /// Whether that is whole, or damaged only in the contents of other records.
    package let isProven: Bool
  }

  package enum Item {
    case record(Entry)
    /// All records of a commit were read; this is its trailer. Compacted segments have none.
    case commit(LogEnd, CommitTrailer)
    /// Damaged bytes; reading continues after them if that is possible.
    case damage(Damage)
    case end
  }

  private let segment: Segment
  private var source: Source
  /// The rest of the payload being read.
  private var records: RecordReader
  private var parts: ArraySlice<LoggedTransaction.Part> = []
  private var transaction: LoggedTransaction?
  private var mark: (commit: UInt64, time: UInt64) = (0, 0)
  private var hasDamage = false
  /// Whether the last damage is that of one record, and the rest of its transaction is proven.
  package private(set) var isOfOneRecord = false
  /// The file offset at which reading ends, in bytes.
  private let limit: Int
  /// Whether the whole records in damaged parts are read, too.
  private let salvages: Bool
  private var salvage: RecordSalvage?

  private enum Source {
    case transactions(TransactionReader)
    case compacted(FrameReader)
    case nothing
  }

  /// Begins at the end of a transaction, or at the first frame if `start` is nil.
  ///
  /// A compacted segment is always read from its first frame. If damage is salvaged, its whole
  /// records are read, and so are those between the segment's end and `limit`; ``Entry/isOfWhole``
  /// marks them.
  package init(
    _ segment: Segment, from start: LogEnd? = nil, salvages: Bool = false, limit: Int? = nil
  ) {
    self.segment = segment
    self.salvages = salvages
    let limit = limit ?? Int(clamping: segment.end.offset)
    self.limit = limit
    source =
      segment.header.compaction == nil
      ? .transactions(TransactionReader(segment, from: start, limit: limit, passesLost: salvages))
      : .compacted(FrameReader(segment, limit: limit))
    records = RecordReader(.empty, at: 0, encryptedBy: nil)
  }
}

extension RecordScan {
  /// Returns the next record, for readers that cannot do without any; nil at the end.
  package mutating func nextRecord() throws(LogError) -> Entry? {
    while true {
      switch try next() {
      case .record(let entry): return entry
      case .commit: continue
      case .damage(let damage): throw .damaged(damage)
      case .end: return nil
      }
    }
  }

  package mutating func next() throws(LogError) -> Item {
    while true {
      if let found = try nextSalvaged() { return found }
      do throws(ByteError) {
        while let (record, offset, size) = try records.next() {
          if record.kind == .commitMark, transaction == nil {
            var reader = ByteReader(record.payload)
            mark = (try reader.readVarint(), try reader.readVarint())
            continue
          }
          return .record(
            Entry(
              record: record,
              locator: RecordLocator(
                fileID: segment.fileID, offset: UInt64(offset), size: UInt32(size)),
              commit: transaction?.commit ?? mark.commit,
              time: transaction?.trailer.time ?? mark.time,
              isOfWhole: transaction?.isWhole ?? true, isProven: true))
        }
      } catch {
        isOfOneRecord = false
        let offset = records.offset
        records = RecordReader(.empty, at: 0, encryptedBy: nil)
        return .damage(Damage(path: segment.file.path, offset: offset, reason: error.reason))
      }
      if let part = parts.popFirst() {
        if let lost = part.lost.first {
          isOfOneRecord = true
          return .damage(
            Damage(
              path: segment.file.path, offset: part.offset, size: lost.count,
              reason: "the record does not match its checksum"))
        }
        records = RecordReader(
          part.records, at: part.offset, encryptedBy: segment.file.encryption)
        continue
      }
      if let done = transaction {
        transaction = nil
        return .commit(done.end, done.trailer)
      }
      isOfOneRecord = false
      if let item = try advance() { return item }
    }
  }

  /// Returns the next whole record in a damaged part; nil if there is none.
  private mutating func nextSalvaged() throws(LogError) -> Item? {
    while let item = try salvage?.next() {
      if item.record.kind == .commitMark {
        var reader = ByteReader(item.record.payload)
        if let commit = try? reader.readVarint(), let time = try? reader.readVarint() {
          mark = (commit, time)
        }
        continue
      }
      let isCompacted = segment.header.compaction != nil
      return .record(
        Entry(
          record: item.record,
          locator: RecordLocator(
            fileID: segment.fileID, offset: UInt64(item.offset), size: UInt32(item.size)),
          commit: isCompacted ? mark.commit : item.commit, time: isCompacted ? mark.time : 0,
          isOfWhole: false, isProven: false))
    }
    salvage = nil
    return nil
  }

  /// Moves to the next payload; if there is an item to report instead, returns that.
  private mutating func advance() throws(LogError) -> Item? {
    switch source {
    case .nothing:
      return .end
    case .transactions(var reader):
      defer { if case .transactions = source { source = .transactions(reader) } }
      return try advance(&reader)
    case .compacted(var reader):
      defer { if case .compacted = source { source = .compacted(reader) } }
      return try advance(&reader)
    }
  }

  /// Moves to the next transaction.
  private mutating func advance(_ reader: inout TransactionReader) throws(LogError) -> Item? {
    switch try reader.next() {
    case .transaction(let next):
      transaction = next
      parts = ArraySlice(next.isWhole ? next.parts : next.parts.flatMap(\.pieces))
      return nil
    case .broken(let offset, let reason):
      hasDamage = true
      let start = Int(clamping: reader.end.offset)
      let goesOn = try reader.resume()
      if !goesOn { source = .nothing }
      if salvages {
        let end = goesOn ? Int(clamping: reader.end.offset) : limit
        salvage = RecordSalvage(segment, start..<max(start, end))
      }
      return damage(at: offset, reason)
    case .end:
      source = .nothing
      return hasDamage ? nil : damage(ifNot: reader.end)
    }
  }

  /// Moves to the next frame of a compacted segment.
  private mutating func advance(_ reader: inout FrameReader) throws(LogError) -> Item? {
    let start = reader.offset
    switch try reader.next() {
    case .frame(let header, let offset, let payload):
      switch header.kind {
      case .compacted:
        records = RecordReader(
          payload, at: offset + FrameHeader.size, encryptedBy: segment.file.encryption)
      case .footer:
        source = .nothing
      default:
        source = .nothing
        return damage(
          at: offset, "the frame is of a kind that does not belong in a compacted segment")
      }
      return nil
    case .badPayload(let header, let offset):
      if salvages { salvage = RecordSalvage(segment, offset..<offset + header.frameSize) }
      return damage(at: offset, "the frame's payload does not match its checksum")
    case .noFrame(let reason):
      if try !reader.resynchronize(from: start + FrameHeader.alignment) { source = .nothing }
      return damage(at: start, reason)
    case .end:
      source = .nothing
      return damage(at: start, "the footer is missing")
    }
  }

  private func damage(at offset: Int, _ reason: String) -> Item {
    .damage(Damage(path: segment.file.path, offset: offset, reason: reason))
  }

  /// Returns the damage if the transactions do not end where the segment's successor says.
  private func damage(ifNot end: LogEnd) -> Item? {
    guard end != segment.end else { return nil }
    return .damage(
      Damage(
        path: segment.file.path, offset: Int(clamping: end.offset),
        reason:
          "the segment ends with commit \(end.commit) at byte \(end.offset), but its successor "
          + "begins after commit \(segment.end.commit) at byte \(segment.end.offset)"))
  }
}
