import Divan
import DivanLog

/// Salvages the newest whole record of each document from a log, however damaged the rest is.
///
/// Also finds the records of the other branches of a document, attachments, and local documents.
///
/// Records have checksums of their own. They are therefore salvaged from a damaged frame, after a
/// damaged header of a frame or of a segment, and in a transaction that has lost another frame.
/// Bytes that never counted are ignored: a torn tail, and bytes in a segment past its end.
struct Rescue {
  struct Location {
    var segment: Int
    var locator: RecordLocator
    var sequence: UInt64
    var isDeleted: Bool
    /// Whether other records may contain leaves of the document.
    var hasTree: Bool
  }

  /// The key of a record that is a leaf in addition to its document's newest record.
  struct LeafKey: Hashable {
    var id: DocumentKey
    var sequence: UInt64
  }

  let segments: [Segment]
  private let directory: StoreDirectory
  /// The newest record of each document that could be read.
  private(set) var locations: [DocumentKey: Location] = [:]
  /// Documents that were purged.
  private(set) var purged: Set<DocumentKey> = []
  private var leaves: [LeafKey: (segment: Int, locator: RecordLocator)] = [:]
  private var blobs: [SHA256.Digest: (segment: Segment, locator: RecordLocator)] = [:]
  private(set) var localDocuments: [DocumentKey: Value.Object] = [:]
  private(set) var losses: [Damage]
  /// Whether everything was read once, and only leaves are searched for.
  private var isSearchingForLeaves = false

  init(_ log: OpenedLog) throws {
    segments = (log.segments + (try log.unreadableSegments()))
      .sorted { $0.header.numbers.lowerBound < $1.header.numbers.lowerBound }
    directory = log.directory
    losses = log.damage
  }
}

extension Rescue {
  /// Reads everything; calls `progress` with the number of each segment, from 1 on, and the total.
  mutating func run(progress: (Int, Int) -> Void = { _, _ in }) throws {
    for index in segments.indices {
      progress(index + 1, segments.count)
      try read(index)
    }
    // Leaves are known only after the newest record of their document.
    let branched = locations.filter(\.value.hasTree)
    guard !branched.isEmpty else { return }
    isSearchingForLeaves = true
    for (id, location) in branched {
      for leaf in try document(at: location).leaves {
        leaves[LeafKey(id: id, sequence: leaf.sequence)] = (-1, location.locator)
      }
    }
    for index in segments.indices { try read(index) }
  }

  /// Returns the newest record of a document.
  func document(at location: Location) throws -> InspectedDocument {
    try InspectedDocument(segments[location.segment].record(at: location.locator).payload)
  }

  /// Returns the record of a leaf; nil if it could not be read.
  func leaf(_ key: LeafKey) throws -> InspectedDocument? {
    guard let location = leaves[key], location.segment >= 0 else { return nil }
    return try InspectedDocument(segments[location.segment].record(at: location.locator).payload)
  }

  /// The content of attachments.
  var attachments: InspectedAttachments { InspectedAttachments(in: directory, locators: blobs) }

  private mutating func read(_ index: Int) throws {
    let segment = segments[index]
    let limit = min(Int(clamping: segment.end.offset), try segment.file.size())
    var scan = SegmentScan(segment, limit: limit)
    while true {
      switch try scan.next() {
      case .frame(let header, let offset, let payload, _):
        guard header.kind == .transaction || header.kind == .compacted else { continue }
        let hasTrailer = header.kind == .transaction && header.flags.contains(.last)
        let size = max(0, payload.count - (hasTrailer ? CommitTrailer.size : 0))
        readRecords(payload.prefix(size), at: offset + FrameHeader.size, index)
      case .gap(let range, let reason):
        lose(
          Damage(
            path: segment.file.path, offset: range.lowerBound, size: range.count, reason: reason))
        try readGap(range, index)
      case .end: return
      }
    }
  }

  /// Takes the records among bytes outside frames.
  private mutating func readGap(_ range: Range<Int>, _ index: Int) throws {
    var position = range.lowerBound
    while position < range.upperBound {
      let bytes = try segments[index].bytes(
        min(Rescue.gapStep + Record.sizeLimit, range.upperBound - position), at: position)
      guard !bytes.isEmpty else { return }
      // Records that begin later are read whole in the next step.
      let end = position + bytes.count < range.upperBound ? Rescue.gapStep : bytes.count
      let search = RecordSearch(bytes, encryptedBy: segments[index].file.encryption)
      var next = 0
      while let found = search.next(from: next, before: end) {
        take(found.record, index, at: position + found.position, found.size)
        next = found.position + found.size
      }
      position += max(next, end)
    }
  }

  /// The number of bytes between frames that are searched at a time.
  private static let gapStep = 8 << 20

  private mutating func readRecords(
    _ records: SharedBytes, at offset: Int, _ index: Int
  ) {
    let encryption = segments[index].file.encryption
    var position = 0
    while position < records.count {
      let rest = records.suffix(from: position)
      guard let (record, size) = try? Record.decode(rest, encryptedBy: encryption) else { break }
      take(record, index, at: offset + position, size)
      position += size
    }
    guard position < records.count else { return }
    // From here on a record may begin at any byte.
    let start = position
    let search = RecordSearch(records.suffix(from: start), encryptedBy: encryption)
    while position < records.count {
      if let found = search.record(at: position - start) {
        take(found.record, index, at: offset + position, found.size)
        position += found.size
        continue
      }
      let rest = records.suffix(from: position)
      var next: Int?
      let known = position
      if let size = AttachmentRecord.size(
        ofDamaged: rest, isRecord: { search.record(at: known + $0 - start) != nil })
      {
        next = position + size
      } else {
        next = search.next(from: position + 1 - start).map { start + $0.position }
      }
      let end = next ?? records.count
      lose(from: position, to: end, at: offset, index)
      position = end
    }
  }

  private mutating func take(_ record: Record, _ index: Int, at offset: Int, _ size: Int) {
    take(
      record, index,
      RecordLocator(
        fileID: segments[index].fileID, offset: UInt64(offset), size: UInt32(size)))
  }

  private mutating func take(_ record: Record, _ index: Int, _ locator: RecordLocator) {
    switch record.kind {
    case .document:
      guard let document = try? InspectedDocument(record.payload) else {
        return loseUnread(locator, index)
      }
      take(document, index, locator)
    case .attachment:
      guard let attachment = try? AttachmentRecord.decode(record.payload) else {
        return loseUnread(locator, index)
      }
      blobs[attachment.digest] = (segments[index], locator)
    default:
      guard !isSearchingForLeaves, let other = try? InspectedRecord(record) else { return }
      take(other, record.payload)
    }
  }

  private mutating func take(
    _ document: InspectedDocument, _ index: Int, _ locator: RecordLocator
  ) {
    guard !isSearchingForLeaves else {
      let key = LeafKey(id: DocumentKey(document.id), sequence: document.sequence)
      if leaves[key] != nil { leaves[key] = (index, locator) }
      return
    }
    // Sequence numbers rise along the log.
    let id = DocumentKey(document.id)
    if let known = locations[id], known.sequence > document.sequence { return }
    purged.remove(id)
    locations[id] = Location(
      segment: index, locator: locator, sequence: document.sequence,
      isDeleted: document.isDeleted, hasTree: document.hasTree)
  }

  private mutating func take(_ record: InspectedRecord, _ payload: SharedBytes) {
    switch record {
    case .purge(let id, nil):
      locations[DocumentKey(id)] = nil
      purged.insert(DocumentKey(id))
    case .local(let id, _):
      localDocuments[DocumentKey(id)] = try? InspectedRecord.localProperties(payload)
    case .purge, .named, .index, .commitPoint: break
    }
  }

  /// Reports the loss of an intact record that no writer of this version writes.
  private mutating func loseUnread(_ locator: RecordLocator, _ index: Int) {
    lose(
      Damage(
        path: segments[index].file.path, offset: Int(clamping: locator.offset),
        size: Int(locator.size), reason: "the record cannot be decoded"))
  }

  private mutating func lose(from start: Int, to end: Int, at offset: Int, _ index: Int) {
    lose(
      Damage(
        path: segments[index].file.path, offset: offset + start, size: end - start,
        reason: "\(end - start) bytes contain no whole record"))
  }

  private mutating func lose(_ damage: Damage) {
    // Enough to locate the damage; the number of saved documents shows the rest.
    if losses.count < 10_000, !isSearchingForLeaves { losses.append(damage) }
  }
}
