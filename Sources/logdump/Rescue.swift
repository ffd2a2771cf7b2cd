import Divan
import DivanLog

/// Finds the newest whole record of each document in a log, whatever else is damaged, and those of the other
/// branches where a document has several; attachments; and local documents.
///
/// Records have checksums of their own: those in a damaged frame, or in a transaction of which another
/// frame is lost, are found too. What never counted is not taken: a torn tail, and what stands in
/// a segment past its end.
struct Rescue {
  struct Place {
    var segment: Int
    var locator: RecordLocator
    var sequence: UInt64
    var isDeleted: Bool
    /// Whether other records may hold leaves of the document.
    var hasTree: Bool
  }

  /// A record that is a leaf besides its document's newest one.
  struct LeafKey: Hashable {
    var id: String
    var sequence: UInt64
  }

  let segments: [Segment]
  private let directory: StoreDirectory
  /// Of each document, its newest record that could be read.
  private(set) var places: [String: Place] = [:]
  /// Documents that were purged.
  private(set) var purged: Set<String> = []
  private var leaves: [LeafKey: (segment: Int, locator: RecordLocator)] = [:]
  private var bodies: [SHA256.Digest: (segment: Segment, locator: RecordLocator)] = [:]
  private(set) var localDocuments: [String: Value.Object] = [:]
  private(set) var losses: [Damage]
  /// Whether everything was read once, and only leaves are looked for.
  private var isLookingForLeaves = false

  init(_ log: OpenedLog) {
    segments = log.segments
    directory = log.directory
    losses = log.damage
  }
}

extension Rescue {
  mutating func run() throws {
    for index in segments.indices { try read(index) }
    // Which records are leaves is known only when the newest one is.
    let branched = places.filter(\.value.hasTree)
    guard !branched.isEmpty else { return }
    isLookingForLeaves = true
    for (id, place) in branched {
      for leaf in try document(at: place).leaves {
        leaves[LeafKey(id: id, sequence: leaf.sequence)] = (-1, place.locator)
      }
    }
    for index in segments.indices { try read(index) }
  }

  /// The newest record of a document.
  func document(at place: Place) throws -> InspectedDocument {
    try InspectedDocument(segments[place.segment].record(at: place.locator).payload)
  }

  /// The record of a leaf; nil if it could not be read.
  func leaf(_ key: LeafKey) throws -> InspectedDocument? {
    guard let place = leaves[key], place.segment >= 0 else { return nil }
    return try InspectedDocument(segments[place.segment].record(at: place.locator).payload)
  }

  /// The content of attachments.
  var attachments: InspectedAttachments { InspectedAttachments(in: directory, places: bodies) }

  private mutating func read(_ index: Int) throws {
    let segment = segments[index]
    let limit = min(Int(clamping: segment.end.offset), try segment.file.size())
    var walk = SegmentWalk(segment, limit: limit)
    while true {
      switch try walk.next() {
      case .frame(let header, let offset, let payload, let isSound):
        guard header.kind == .transaction || header.kind == .merged else { continue }
        let hasTrailer = header.kind == .transaction && header.flags.contains(.last)
        let size = max(0, payload.count - (hasTrailer ? CommitTrailer.size : 0))
        readRecords(payload.prefix(size), at: offset + FrameHeader.size, index, isSound: isSound)
      case .gap(let range, let reason):
        lose(
          Damage(
            path: segment.file.path, offset: range.lowerBound, size: range.count, reason: reason))
      case .end: return
      }
    }
  }

  private mutating func readRecords(
    _ records: SharedBytes, at offset: Int, _ index: Int, isSound: Bool
  ) {
    var position = 0
    var lossStart: Int?
    // Each attempt may read as many bytes as a damaged size says, so their sum is bounded.
    var budget = 4 * records.count + 4096
    while position < records.count, budget > 0 {
      let rest = records.suffix(from: position)
      guard let (record, size) = try? Record.decode(rest) else {
        lossStart = lossStart ?? position
        budget -= attemptCost(rest)
        position += 1
        continue
      }
      lose(from: lossStart, to: position, at: offset, index)
      lossStart = nil
      take(
        record, index,
        RecordLocator(
          fileID: segments[index].fileID, offset: UInt64(offset + position), size: UInt32(size)))
      position += size
    }
    lose(from: lossStart, to: records.count, at: offset, index)
  }

  /// How many bytes a failed attempt to read a record went over.
  private func attemptCost(_ bytes: SharedBytes) -> Int {
    var reader = ByteReader(bytes)
    return 1 + ((try? reader.readCount(limit: bytes.count)) ?? 0)
  }

  private mutating func take(_ record: Record, _ index: Int, _ locator: RecordLocator) {
    switch record.kind {
    case .document:
      guard let document = try? InspectedDocument(record.payload) else { return }
      take(document, index, locator)
    case .attachment:
      guard let body = try? AttachmentRecord.decode(record.payload) else { return }
      bodies[body.digest] = (segments[index], locator)
    default:
      guard !isLookingForLeaves, let other = try? InspectedRecord(record) else { return }
      take(other, record.payload)
    }
  }

  private mutating func take(
    _ document: InspectedDocument, _ index: Int, _ locator: RecordLocator
  ) {
    guard !isLookingForLeaves else {
      let key = LeafKey(id: document.id, sequence: document.sequence)
      if leaves[key] != nil { leaves[key] = (index, locator) }
      return
    }
    // Sequence numbers rise along the log.
    if let known = places[document.id], known.sequence > document.sequence { return }
    purged.remove(document.id)
    places[document.id] = Place(
      segment: index, locator: locator, sequence: document.sequence,
      isDeleted: document.isDeleted, hasTree: document.hasTree)
  }

  private mutating func take(_ record: InspectedRecord, _ payload: SharedBytes) {
    switch record {
    case .purge(let id, nil):
      places[id] = nil
      purged.insert(id)
    case .local(let id, _):
      localDocuments[id] = try? InspectedRecord.localProperties(payload)
    case .purge, .named, .index, .moment: break
    }
  }

  private mutating func lose(from start: Int?, to end: Int, at offset: Int, _ index: Int) {
    guard let start else { return }
    lose(
      Damage(
        path: segments[index].file.path, offset: offset + start, size: end - start,
        reason: "\(end - start) bytes that are no whole record"))
  }

  private mutating func lose(_ damage: Damage) {
    // Enough to see where; the rest is counted by the documents that come out.
    if losses.count < 10_000, !isLookingForLeaves { losses.append(damage) }
  }
}
