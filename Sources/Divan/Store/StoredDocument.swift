import DivanLog

/// A document's record as it lies in the log: checked, its parts made when they are asked for.
///
/// Most who read documents want the body and little else. ``DocumentRecord`` has each part by itself, for those who change
/// records and write them. FILE_FORMAT.md §9
struct StoredDocument: Sendable {
  private let payload: SharedBytes
  private(set) var sequence: UInt64 = 0
  private(set) var revision = RevisionID(generation: 1, digest: .own(0, 0))
  private var flags: DocumentRecord.Flags = []
  private var places = Places()
  private var boxedDetails: BoxedDetails?

  /// Where parts lie in the payload, whose size is below that of a record.
  private struct Places {
    var idSize: UInt8 = 0
    var ancestorCount: UInt32 = 0
    var ancestorsStart: UInt32 = 0
    var ancestorsEnd: UInt32 = 0
    var bodyStart: UInt32 = 0
  }
}

extension StoredDocument {
  /// Finds the parts of a record, and checks all that is not the body; tells also what it takes the place of.
  fileprivate init(
    _ payload: SharedBytes, _ superseded: inout DocumentRecord.Superseded?
  ) throws(ByteError) {
    self.payload = payload
    try payload.withSpan { (bytes) throws(ByteError) in try read(bytes, &superseded) }
    if flags.contains(.details) { try readDetails() }
    if let superseded, superseded.sequence >= sequence {
      // Only a changed expiry writes a record again, which holds nothing besides.
      guard superseded.sequence == sequence, boxedDetails?.details.keepsSuperseded != true else {
        throw ByteError(
          offset: Int(places.bodyStart), reason: "a document whose sequence numbers go back")
      }
    }
  }

  /// Reads what stands before the details, and finds where the body begins if there are none.
  private mutating func read(
    _ bytes: Span<UInt8>, _ superseded: inout DocumentRecord.Superseded?
  ) throws(ByteError) {
    var offset = 0
    flags = DocumentRecord.Flags(rawValue: try bytes.read(UInt8.self, at: &offset))
    guard DocumentRecord.Flags.known.isSuperset(of: flags) else {
      throw ByteError(offset: 0, reason: "a document record with unknown flags")
    }
    places.idSize = try bytes.read(UInt8.self, at: &offset)
    _ = try bytes.readRange(Int(places.idSize), at: &offset)
    guard places.idSize > 0 else {
      throw ByteError(offset: 1, reason: "a document without an ID")
    }
    sequence = try bytes.readVarint(at: &offset)
    guard sequence <= counterLimit else {
      throw ByteError(offset: offset, reason: "a sequence number beyond all limits")
    }
    let generation = try bytes.readVarint(at: &offset)
    let digest = try RevisionID.Digest.read(
      bytes, at: &offset, isForeign: flags.contains(.foreignRevision))
    guard let revision = RevisionID.read(generation, digest) else {
      throw ByteError(offset: offset, reason: "a revision of generation 0")
    }
    self.revision = revision
    if flags.contains(.superseding) {
      superseded = DocumentRecord.Superseded(
        sequence: try bytes.readVarint(at: &offset),
        locator: try RecordLocator.read(bytes, at: &offset))
    }
    if flags.contains(.ancestors) { try readAncestors(bytes, &offset) }
    places.bodyStart = UInt32(offset)
  }

  private mutating func readAncestors(
    _ bytes: Span<UInt8>, _ offset: inout Int
  ) throws(ByteError) {
    let count = try bytes.readCount(limit: (bytes.count - offset) / 2, at: &offset)
    places.ancestorCount = UInt32(count)
    places.ancestorsStart = UInt32(offset)
    if flags.contains(.foreignAncestors) {
      for _ in 0..<count {
        _ = try RevisionID.Digest.read(bytes, at: &offset, isForeign: true)
      }
    } else {
      _ = try bytes.readRange(16 * count, at: &offset)
    }
    places.ancestorsEnd = UInt32(offset)
  }

  private mutating func readDetails() throws(ByteError) {
    var reader = ByteReader(payload)
    reader.offset = Int(places.bodyStart)
    boxedDetails = BoxedDetails(try DocumentDetails.decode(&reader))
    places.bodyStart = UInt32(reader.offset)
  }
}

extension StoredDocument {
  /// The document's ID in UTF-8; it may be any bytes.
  var idBytes: SharedBytes {
    payload.prefix(idRange.upperBound).suffix(from: idRange.lowerBound)
  }

  var isDeleted: Bool { flags.contains(.deleted) }

  /// The properties in their binary form.
  var body: SharedBytes { payload.suffix(from: Int(places.bodyStart)) }

  /// The same for whoever wants nothing else, so that no reference is counted.
  consuming func takeBody() -> SharedBytes { payload.suffix(from: Int(places.bodyStart)) }

  var details: DocumentDetails? { boxedDetails?.details }

  var ancestors: DocumentRecord.Ancestors {
    guard places.ancestorCount > 0 else { return .none }
    return DocumentRecord.Ancestors(
      count: Int(places.ancestorCount),
      bytes: payload.prefix(Int(places.ancestorsEnd)).suffix(from: Int(places.ancestorsStart)),
      hasForeign: flags.contains(.foreignAncestors))
  }

  /// The ID of the revision that this one was made from; nil for a first one.
  var parent: RevisionID? {
    guard revision.generation > 1, let digest = ancestors.first else { return nil }
    return RevisionID.read(revision.generation - 1, digest)
  }

  func isOf(_ id: String) -> Bool { withUTF8(of: id) { isOf($0) } }

  /// Whether it is a record of the document of an ID.
  func isOf(_ id: SharedBytes) -> Bool { id.withSpan { isOf($0) } }

  private func isOf(_ id: Span<UInt8>) -> Bool {
    payload.withSpan { areEqual($0.extracting(idRange), id) }
  }

  private var idRange: Range<Int> {
    // Behind the flags and its own size.
    2..<2 + Int(places.idSize)
  }
}

/// What a document's record can be read as.
protocol DocumentContent {
  /// Finds the parts of a record, and checks all that is not the body.
  static func decode(_ payload: SharedBytes) throws(ByteError) -> Self

  var sequence: UInt64 { get }
  var revision: RevisionID { get }
  /// The ID of the revision that this one was made from; nil for a first one.
  var parent: RevisionID? { get }
  var isDeleted: Bool { get }
  var details: DocumentDetails? { get }
  /// The properties in their binary form.
  var body: SharedBytes { get }

  /// Whether it is a record of the document of an ID.
  func isOf(_ id: String) -> Bool
}

extension StoredDocument: DocumentContent {
  static func decode(_ payload: SharedBytes) throws(ByteError) -> StoredDocument {
    var superseded: DocumentRecord.Superseded?
    return try StoredDocument(payload, &superseded)
  }
}

extension DocumentRecord: DocumentContent {
  func isOf(_ id: String) -> Bool { idBytes.isUTF8(of: id) }

  static func decode(_ payload: SharedBytes) throws(ByteError) -> DocumentRecord {
    var superseded: Superseded?
    let stored = try StoredDocument(payload, &superseded)
    return DocumentRecord(
      idBytes: stored.idBytes, sequence: stored.sequence, revision: stored.revision,
      isDeleted: stored.isDeleted, ancestors: stored.ancestors, superseded: superseded,
      details: stored.details, body: stored.body)
  }
}

/// Details of a document that are moved about by their address.
final class BoxedDetails: Sendable {
  let details: DocumentDetails

  init(_ details: DocumentDetails) { self.details = details }
}
