import DivanLog

/// A document's record as stored in the log: checked, with parts that are decoded on demand.
///
/// Most readers of documents need the properties and little else. ``DocumentRecord`` has each part
/// separately, for code that changes and writes records. FILE_FORMAT.md §9
struct StoredDocument: Sendable {
  /// The record's payload.
  let payload: SharedBytes
  private let head: Head
  private let boxedDetails: BoxedDetails?

  /// The fields before the properties.
  fileprivate struct Head: BitwiseCopyable {
    var layout = DocumentLayout()
    var ancestorCount: UInt32 = 0
  }
}

extension StoredDocument {
  /// Locates the parts of a record, and checks all but the properties; also returns the entry that
  /// it supersedes.
  @inline(__always)
  fileprivate init(
    _ payload: consuming SharedBytes, _ superseded: inout DocumentRecord.Superseded?
  ) throws(ByteError) {
    var head = Head()
    var details: BoxedDetails?
    let hasDetails = try payload.withSpan { (bytes) throws(ByteError) in
      try head.read(bytes, &superseded)
    }
    if hasDetails { details = try head.readDetails(copy payload) }
    if let superseded, superseded.sequence >= head.layout.sequence {
      // Only a changed expiry writes a record again, and it retains no other record.
      guard superseded.sequence == head.layout.sequence, details?.details.keepsSuperseded != true
      else {
        throw ByteError(
          offset: Int(head.layout.propertiesStart),
          reason: "a document record whose sequence number does not rise")
      }
    }
    self.payload = payload
    self.head = head
    boxedDetails = details
  }

  /// Decodes a record, and checks that it has this document ID and sequence number.
  @inline(__always)
  init(
    _ payload: consuming SharedBytes, of id: Span<UInt8>, _ sequence: UInt64
  ) throws(ByteError) {
    var superseded: DocumentRecord.Superseded?
    try self.init(payload, &superseded)
    guard head.layout.sequence == sequence, isOf(id) else {
      throw ByteError(offset: 0, reason: StoredDocument.wrongRecord)
    }
  }

  /// The reason for damage where an index entry leads to the wrong record.
  static let wrongRecord = "the record is not the one that the index names"
}

extension StoredDocument.Head {
  /// Reads the fields before the details; returns whether there are details.
  ///
  /// Without details, the properties begin there.
  mutating func read(
    _ bytes: Span<UInt8>, _ superseded: inout DocumentRecord.Superseded?
  ) throws(ByteError) -> Bool {
    var offset = 0
    let flags = DocumentRecord.Flags(rawValue: try bytes.read(UInt8.self, at: &offset))
    guard DocumentRecord.Flags.known.isSuperset(of: flags) else {
      throw ByteError(offset: 0, reason: "a document record with unknown flags")
    }
    if flags.contains(.deleted) { layout.traits.insert(.deleted) }
    layout.idSize = try bytes.read(UInt8.self, at: &offset)
    _ = try bytes.readRange(Int(layout.idSize), at: &offset)
    guard layout.idSize > 0 else {
      throw ByteError(offset: 1, reason: "a document without an ID")
    }
    layout.sequence = try bytes.readVarint(at: &offset)
    guard layout.sequence <= counterLimit else {
      throw ByteError(offset: offset, reason: "a sequence number beyond all limits")
    }
    layout.generation = try bytes.readVarint(at: &offset)
    layout.digestStart = UInt32(offset)
    if flags.contains(.foreignRevision) { layout.traits.insert(.foreignDigest) }
    try RevisionID.Digest.skip(bytes, at: &offset, isForeign: flags.contains(.foreignRevision))
    guard RevisionID.generations.contains(layout.generation) else {
      throw ByteError(offset: offset, reason: "a revision of generation 0")
    }
    if flags.contains(.superseding) {
      superseded = DocumentRecord.Superseded(
        sequence: try bytes.readVarint(at: &offset),
        locator: try RecordLocator.read(bytes, at: &offset))
    }
    if flags.contains(.ancestors) {
      try readAncestors(bytes, &offset, hasForeign: flags.contains(.foreignAncestors))
    }
    layout.propertiesStart = UInt32(offset)
    return flags.contains(.details)
  }

  private mutating func readAncestors(
    _ bytes: Span<UInt8>, _ offset: inout Int, hasForeign: Bool
  ) throws(ByteError) {
    let count = try bytes.readCount(limit: (bytes.count - offset) / 2, at: &offset)
    ancestorCount = UInt32(count)
    if count > 0 { layout.parentStart = UInt32(offset) }
    if hasForeign {
      layout.traits.insert(.foreignAncestors)
      for _ in 0..<count { try RevisionID.Digest.skip(bytes, at: &offset, isForeign: true) }
    } else {
      _ = try bytes.readRange(16 * count, at: &offset)
    }
  }

  /// Reads the details, which are between the head and the properties.
  mutating func readDetails(_ payload: SharedBytes) throws(ByteError) -> BoxedDetails {
    var reader = ByteReader(payload)
    reader.offset = Int(layout.propertiesStart)
    let details = BoxedDetails(try DocumentDetails.decode(&reader))
    layout.propertiesStart = UInt32(reader.offset)
    return details
  }
}

extension StoredDocument {
  /// The document's ID in UTF-8, not validated: it may be any bytes.
  var idBytes: SharedBytes {
    payload.prefix(layout.idRange.upperBound).suffix(from: layout.idRange.lowerBound)
  }

  /// The offsets of the record's parts in ``payload``.
  var layout: DocumentLayout { head.layout }

  var sequence: UInt64 { layout.sequence }

  var revision: RevisionID { layout.revision(in: payload) }

  var isDeleted: Bool { layout.isDeleted }

  /// The properties in their binary form.
  var body: SharedBytes { layout.properties(in: payload) }

  /// Consumes the record and returns its properties, without reference counting.
  consuming func takeProperties() -> SharedBytes {
    payload.suffix(from: Int(layout.propertiesStart))
  }

  /// Consumes the record and returns its payload.
  consuming func takePayload() -> SharedBytes { payload }

  var details: DocumentDetails? { boxedDetails?.details }

  /// Whether there are details before the properties.
  var hasDetails: Bool { boxedDetails != nil }

  /// Whether the ID's bytes are valid UTF-8.
  var hasTextAsID: Bool {
    payload.withSpan { firstInvalidUTF8(in: $0.extracting(layout.idRange)) == nil }
  }

  var ancestors: DocumentRecord.Ancestors {
    guard head.ancestorCount > 0 else { return .none }
    return DocumentRecord.Ancestors(
      count: Int(head.ancestorCount),
      bytes: payload.prefix(ancestorsEnd).suffix(from: Int(layout.parentStart)),
      hasForeign: layout.traits.contains(.foreignAncestors))
  }

  private var ancestorsEnd: Int {
    payload.withSpan { bytes in
      var end = Int(layout.parentStart)
      let hasForeign = layout.traits.contains(.foreignAncestors)
      for _ in 0..<head.ancestorCount {
        // They were read already, so this throws nothing.
        try? RevisionID.Digest.skip(bytes, at: &end, isForeign: hasForeign)
      }
      return end
    }
  }

  private func isOf(_ id: Span<UInt8>) -> Bool {
    payload.withSpan { areEqual($0.extracting(layout.idRange), id) }
  }
}

/// A type that a document's record can be decoded as.
protocol DocumentContent {
  /// Locates the parts of a record, and checks all but the properties.
  static func decode(_ payload: SharedBytes) throws(ByteError) -> Self

  var idBytes: SharedBytes { get }
  var sequence: UInt64 { get }
  var revision: RevisionID { get }
  var isDeleted: Bool { get }
  var details: DocumentDetails? { get }
  /// The properties in their binary form.
  var body: SharedBytes { get }
}

extension StoredDocument: DocumentContent {
  static func decode(_ payload: SharedBytes) throws(ByteError) -> StoredDocument {
    var superseded: DocumentRecord.Superseded?
    return try StoredDocument(payload, &superseded)
  }
}

extension DocumentRecord: DocumentContent {
  static func decode(_ payload: SharedBytes) throws(ByteError) -> DocumentRecord {
    var superseded: Superseded?
    let stored = try StoredDocument(payload, &superseded)
    return DocumentRecord(
      idBytes: stored.idBytes, sequence: stored.sequence, revision: stored.revision,
      isDeleted: stored.isDeleted, ancestors: stored.ancestors, superseded: superseded,
      details: stored.details, body: stored.body)
  }
}

/// A reference to a document's details, so that moving them copies a pointer.
final class BoxedDetails: Sendable {
  let details: DocumentDetails

  init(_ details: DocumentDetails) { self.details = details }
}
