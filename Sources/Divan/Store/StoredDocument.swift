import DivanLog

/// A document's record as it lies in the log: checked, its parts made when they are asked for.
///
/// Most who read documents want the body and little else. ``DocumentRecord`` has each part by itself, for those who change
/// records and write them. FILE_FORMAT.md §9
struct StoredDocument: Sendable {
  private let payload: SharedBytes
  private let head: Head
  private let boxedDetails: BoxedDetails?

  /// What stands before the properties, and where parts lie in the payload, whose size is below that of a record.
  fileprivate struct Head: Sendable {
    var flags: DocumentRecord.Flags = []
    var idSize: UInt8 = 0
    var sequence: UInt64 = 0
    var revision = RevisionID(generation: 1, digest: .own(0, 0))
    var ancestorCount: UInt32 = 0
    var ancestorsStart: UInt32 = 0
    var ancestorsEnd: UInt32 = 0
    var bodyStart: UInt32 = 0
  }
}

extension StoredDocument {
  /// Finds the parts of a record, and checks all that is not the body; tells also what it takes the place of.
  fileprivate init(
    _ payload: consuming SharedBytes, _ superseded: inout DocumentRecord.Superseded?
  ) throws(ByteError) {
    var head = Head()
    var boxedDetails: BoxedDetails?
    try payload.withSpan { (bytes) throws(ByteError) in try head.read(bytes, &superseded) }
    if head.flags.contains(.details) {
      var reader = ByteReader(copy payload)
      reader.offset = Int(head.bodyStart)
      boxedDetails = BoxedDetails(try DocumentDetails.decode(&reader))
      head.bodyStart = UInt32(reader.offset)
    }
    if let superseded, superseded.sequence >= head.sequence {
      // Only a changed expiry writes a record again, which holds nothing besides.
      guard superseded.sequence == head.sequence, boxedDetails?.details.keepsSuperseded != true
      else {
        throw ByteError(
          offset: Int(head.bodyStart), reason: "a document whose sequence numbers go back")
      }
    }
    self.payload = payload
    self.head = head
    self.boxedDetails = boxedDetails
  }

  /// The record of the document of an ID, with a sequence number.
  init(
    _ payload: consuming SharedBytes, of id: SharedBytes, _ sequence: UInt64
  ) throws(ByteError) {
    var superseded: DocumentRecord.Superseded?
    try self.init(payload, &superseded)
    guard head.sequence == sequence, isOf(id) else {
      throw ByteError(offset: 0, reason: StoredDocument.isOfOther)
    }
  }

  /// What is wrong with a record that an index entry leads to, and that is not what it should be.
  static let isOfOther = "another record stands here"
}

extension StoredDocument.Head {
  /// Reads what stands before the details, and finds where the body begins if there are none.
  mutating func read(
    _ bytes: Span<UInt8>, _ superseded: inout DocumentRecord.Superseded?
  ) throws(ByteError) {
    var offset = 0
    flags = DocumentRecord.Flags(rawValue: try bytes.read(UInt8.self, at: &offset))
    guard DocumentRecord.Flags.known.isSuperset(of: flags) else {
      throw ByteError(offset: 0, reason: "a document record with unknown flags")
    }
    idSize = try bytes.read(UInt8.self, at: &offset)
    _ = try bytes.readRange(Int(idSize), at: &offset)
    guard idSize > 0 else {
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
    bodyStart = UInt32(offset)
  }

  private mutating func readAncestors(
    _ bytes: Span<UInt8>, _ offset: inout Int
  ) throws(ByteError) {
    let count = try bytes.readCount(limit: (bytes.count - offset) / 2, at: &offset)
    ancestorCount = UInt32(count)
    ancestorsStart = UInt32(offset)
    if flags.contains(.foreignAncestors) {
      for _ in 0..<count {
        _ = try RevisionID.Digest.read(bytes, at: &offset, isForeign: true)
      }
    } else {
      _ = try bytes.readRange(16 * count, at: &offset)
    }
    ancestorsEnd = UInt32(offset)
  }
}

extension StoredDocument {
  /// The document's ID in UTF-8; it may be any bytes.
  var idBytes: SharedBytes {
    payload.prefix(idRange.upperBound).suffix(from: idRange.lowerBound)
  }

  var sequence: UInt64 { head.sequence }

  var revision: RevisionID { head.revision }

  var isDeleted: Bool { head.flags.contains(.deleted) }

  /// The properties in their binary form.
  var body: SharedBytes { payload.suffix(from: bodyStart) }

  /// The same for whoever wants nothing else, so that no reference is counted.
  consuming func takeBody() -> SharedBytes { payload.suffix(from: bodyStart) }

  /// Where the properties begin in what the record holds.
  var bodyStart: Int { Int(head.bodyStart) }

  /// What the record holds, for whoever wants nothing else.
  consuming func takePayload() -> SharedBytes { payload }

  var details: DocumentDetails? { boxedDetails?.details }

  var ancestors: DocumentRecord.Ancestors {
    guard head.ancestorCount > 0 else { return .none }
    return DocumentRecord.Ancestors(
      count: Int(head.ancestorCount),
      bytes: payload.prefix(Int(head.ancestorsEnd)).suffix(from: Int(head.ancestorsStart)),
      hasForeign: head.flags.contains(.foreignAncestors))
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
    2..<2 + Int(head.idSize)
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
