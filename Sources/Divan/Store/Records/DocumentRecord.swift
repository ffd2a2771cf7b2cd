import DivanLog

/// A document's state as the log stores it: its complete index entry, and its properties.
///
/// Because the entry is complete, replay inserts it into the index without a lookup.
/// FILE_FORMAT.md §9
struct DocumentRecord: Sendable {
  /// The document's ID in UTF-8; a record that is read may have any bytes here.
  var idBytes: SharedBytes
  var sequence: UInt64
  var revision: RevisionID
  var isDeleted: Bool
  /// The digests of the revisions before this one, the nearest first; their generations count down
  /// from the one before this one's.
  var ancestors: Ancestors
  /// The index entry that the document had until now.
  var superseded: Superseded?
  /// The optional details; nil if there are none.
  var details: DocumentDetails? {
    get { boxedDetails?.details }
    set { boxedDetails = newValue.map { BoxedDetails($0) } }
  }
  /// Boxed, so that details, which few documents have, are not moved with each record.
  private var boxedDetails: BoxedDetails?
  /// The properties in their binary form.
  var body: SharedBytes

  /// The entry that a record supersedes.
  struct Superseded: Equatable, Sendable {
    var sequence: UInt64
    var locator: RecordLocator

    func encode(to writer: inout ByteWriter) {
      writer.appendVarint(sequence)
      locator.encode(to: &writer)
    }
  }

  /// The digests of earlier revisions, decoded on demand: most readers need none, or the first.
  struct Ancestors: Sendable {
    let count: Int
    let bytes: SharedBytes
    let hasForeign: Bool

    static let none = Ancestors(count: 0, bytes: .empty, hasForeign: false)
  }

  init(
    idBytes: SharedBytes, sequence: UInt64, revision: RevisionID, isDeleted: Bool,
    ancestors: Ancestors, superseded: Superseded? = nil, details: DocumentDetails? = nil,
    body: SharedBytes
  ) {
    self.idBytes = idBytes
    self.sequence = sequence
    self.revision = revision
    self.isDeleted = isDeleted
    self.ancestors = ancestors
    self.superseded = superseded
    self.body = body
    self.details = details
  }
}

extension DocumentRecord.Ancestors {
  /// Encodes digests for a new record.
  init(_ digests: [RevisionID.Digest]) {
    let hasForeign = digests.contains { $0.isForeign }
    var writer = ByteWriter(capacity: 16 * digests.count)
    for digest in digests { digest.encode(to: &writer, isForeign: hasForeign) }
    self.init(count: digests.count, bytes: writer.sharedCopy, hasForeign: hasForeign)
  }

  /// All digests, the nearest revision's first; up to the first that cannot be read.
  var digests: [RevisionID.Digest] {
    bytes.withSpan { bytes in
      var offset = 0
      var digests: [RevisionID.Digest] = []
      // The generation of a digest after an unreadable one is unknown.
      while digests.count < count,
        let digest = try? RevisionID.Digest.read(bytes, at: &offset, isForeign: hasForeign)
      {
        digests.append(digest)
      }
      return digests
    }
  }

  var first: RevisionID.Digest? {
    guard count > 0 else { return nil }
    return bytes.withSpan { bytes in
      var offset = 0
      return try? RevisionID.Digest.read(bytes, at: &offset, isForeign: hasForeign)
    }
  }
}

extension DocumentRecord {
  /// The document's ID as text; nil if the bytes are not valid text.
  var id: String? { idBytes.text }

  /// The attachments of the record's revision.
  var attachments: [AttachmentEntry] { details?.attachments ?? [] }

  /// The ID of the revision that this one was made from; nil for a first one.
  var parent: RevisionID? {
    guard revision.generation > 1, let digest = ancestors.first else { return nil }
    return RevisionID.read(revision.generation - 1, digest)
  }

  /// Returns whether the revision's ID is the one that Divan computes from the record.
  ///
  /// True also if that cannot be checked, because another store made the revision or its parent is
  /// no longer known.
  func matchesItsRevision() throws(DatabaseError) -> Bool {
    guard !revision.isForeign, details?.isForeignEdit != true,
      revision.generation == 1 || parent != nil
    else { return true }
    let computed = try RevisionID.compute(
      parent: parent, isDeleted: isDeleted, body: body,
      attachments: attachments.map(\.forRevision))
    return computed == revision
  }

  /// The first byte of a record.
  struct Flags: OptionSet {
    let rawValue: UInt8
    static let deleted = Flags(rawValue: 1)
    static let foreignRevision = Flags(rawValue: 2)
    static let superseding = Flags(rawValue: 4)
    static let ancestors = Flags(rawValue: 8)
    static let foreignAncestors = Flags(rawValue: 16)
    static let details = Flags(rawValue: 32)
    static let known: Flags = [
      .deleted, .foreignRevision, .superseding, .ancestors, .foreignAncestors, .details,
    ]
  }

  func encode(to writer: inout ByteWriter) {
    var flags: Flags = []
    if isDeleted { flags.insert(.deleted) }
    if revision.isForeign { flags.insert(.foreignRevision) }
    if superseded != nil { flags.insert(.superseding) }
    if ancestors.count > 0 {
      flags.insert(.ancestors)
      if ancestors.hasForeign { flags.insert(.foreignAncestors) }
    }
    if details != nil { flags.insert(.details) }
    writer.append(flags.rawValue)
    writer.append(UInt8(idBytes.count))
    writer.append(idBytes)
    writer.appendVarint(sequence)
    writer.appendVarint(revision.generation)
    revision.digest.encode(to: &writer, isForeign: revision.isForeign)
    superseded?.encode(to: &writer)
    if ancestors.count > 0 {
      writer.appendVarint(ancestors.count)
      writer.append(ancestors.bytes)
    }
    details?.encode(to: &writer)
    writer.append(body)
  }
}
