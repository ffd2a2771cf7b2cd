package import DivanLog

extension RevisionID {
  /// Returns the ID of an edit, which depends only on the arguments.
  ///
  /// The same edit of the same parent has the same ID on every machine.
  ///
  /// The digest is the first 16 bytes of the SHA-256 of:
  ///
  ///     1 byte    the version of this form: 1
  ///     varint    size of the parent's text; 0 if there is no parent
  ///     …         the parent's text, `generation-digest`, in UTF-8
  ///     1 byte    flags: bit 0 is set if the revision deletes the document
  ///     varint    size of the properties
  ///     …         the properties in their stored form (``ValueFormat``)
  ///     varint    number of attachments; then for each, in the order of the bytes of their names:
  ///       varint  size of its name
  ///       …       its name in UTF-8
  ///       varint  size of its content type
  ///       …       its content type in UTF-8
  ///       varint  its length in bytes
  ///       32      the SHA-256 of its content
  ///
  /// Varints are unsigned, in groups of seven bits, least significant first, as short as can be.
  ///
  /// `body` must be the canonical stored form of the properties.
  ///
  /// Throws ``DatabaseError/Code/invalidRevisionID`` if the parent has the largest generation.
  package static func compute(
    parent: RevisionID?, isDeleted: Bool, body: SharedBytes, attachments: [AttachmentDigest] = []
  ) throws(DatabaseError) -> RevisionID {
    var form = ByteWriter(capacity: body.count + 80)
    let generation = try body.withSpan { (body) throws(DatabaseError) in
      try append(
        parent: parent, isDeleted: isDeleted, body: body, attachments: attachments, to: &form)
    }
    return RevisionID(
      generation: generation, digest: Digest(form.withSpan { SHA256.digest(of: $0) }))
  }

  /// The properties of an attachment that are part of the ID of a revision.
  package struct AttachmentDigest: Sendable {
    package var name: String
    package var contentType: String
    package var length: UInt64
    package var digest: SHA256.Digest

    /// Creates the digest from its parts.
    package init(name: String, contentType: String, length: UInt64, digest: SHA256.Digest) {
      self.name = name
      self.contentType = contentType
      self.length = length
      self.digest = digest
    }
  }

  /// Appends the bytes to be hashed, and returns the generation of the edit.
  private static func append(
    parent: RevisionID?, isDeleted: Bool, body: Span<UInt8>, attachments: [AttachmentDigest],
    to form: inout ByteWriter
  ) throws(DatabaseError) -> UInt64 {
    let generation = (parent?.generation ?? 0) + 1
    guard generation <= generationLimit else {
      throw DatabaseError(.invalidRevisionID, "No generation can follow \(generation - 1)")
    }
    form.append(1 as UInt8)
    appendPrefixed(parent?.description ?? "", to: &form)
    form.append(isDeleted ? 1 : 0 as UInt8)
    form.appendVarint(body.count)
    form.append(body)
    form.appendVarint(attachments.count)
    for attachment in attachments.sorted(by: { compareUTF8($0.name, $1.name) < 0 }) {
      appendPrefixed(attachment.name, to: &form)
      appendPrefixed(attachment.contentType, to: &form)
      form.appendVarint(attachment.length)
      form.append(attachment.digest.bytes)
    }
    return generation
  }

  private static func appendPrefixed(_ text: String, to form: inout ByteWriter) {
    withUTF8(of: text) { text in
      form.appendVarint(text.count)
      form.append(text)
    }
  }
}

extension RevisionID.Digest {
  /// Creates a digest from the first half of a SHA-256.
  init(_ digest: SHA256.Digest) { self = .own(digest.words.0, digest.words.1) }
}

extension RevisionID {
  /// Computes the IDs of many edits at once, which takes half the time.
  package struct Batch: ~Copyable {
    private var forms = ByteWriter(capacity: 4096)
    private var ranges: [Range<Int>] = []
    private var generations: [UInt64] = []

    /// Creates an empty batch.
    package init() {}

    /// The number of edits that were added.
    package var count: Int { ranges.count }

    /// Adds an edit; see ``RevisionID/compute(parent:isDeleted:body:attachments:)``.
    package mutating func append(
      parent: RevisionID?, isDeleted: Bool, body: Span<UInt8>, attachments: [AttachmentDigest] = []
    ) throws(DatabaseError) {
      let start = forms.count
      generations.append(
        try RevisionID.append(
          parent: parent, isDeleted: isDeleted, body: body, attachments: attachments, to: &forms))
      ranges.append(start..<forms.count)
    }

    /// Returns the IDs of the edits in the order of addition, and empties the batch.
    package mutating func finish() -> [RevisionID] {
      let digests = SHA256.digests(of: ranges, in: forms)
      let revisions = zip(generations, digests).map {
        RevisionID(generation: $0, digest: Digest($1))
      }
      forms.removeAll()
      ranges.removeAll(keepingCapacity: true)
      generations.removeAll(keepingCapacity: true)
      return revisions
    }
  }
}
