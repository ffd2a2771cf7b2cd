package import DivanLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Document {
  /// Content of any type and size that belongs to a document: a picture, a sound, a file.
  ///
  /// ```swift
  /// film.attachments["poster"] = Document.Attachment(contentType: "image/jpeg", jpeg)
  /// film.attachments["trailer"] = try Document.Attachment(contentType: "video/mp4", file: path)
  /// try database.write { try $0.put(film) }
  /// let poster = try database.read { try $0.document(film.id)?.attachments["poster"]?.data() }
  /// ```
  /// It is stored with the document's next revision and stays with later revisions until you remove
  /// it. Equal content is stored only once, and is deleted when nothing refers to it any more.
  /// Reading an attachment's metadata does not read the content.
  ///
  /// The content of an attachment that you read stays readable while the database is open. The
  /// exception is an attachment of a live result (``Database/liveResults(of:)-(Query<Document>)``):
  /// its content is readable only while the newest version has it.
  public struct Attachment: Sendable {
    /// The content's MIME type.
    public let contentType: String
    /// The length of the content in bytes.
    public let length: Int
    /// The generation of the revision that added it, CouchDB's `revpos`; 0 if it is not stored yet.
    ///
    /// A value that you set is used for a revision of another store
    /// (``WriteTransaction/insert(_:history:isDeleted:contradictions:origin:)``), unless the
    /// revision's own generation is lower. For local changes, the generation is computed.
    public var generation: UInt64
    /// The digest that another store gave for the content; nil unless the content is from one.
    ///
    /// It is kept with the attachment and dropped when other content replaces it. It is not part of
    /// revision IDs, and is ignored when attachments are compared for equality.
    public var foreignDigest: ForeignDigest?
    package let body: Body

    package enum Body: Sendable {
      /// Bytes that are not stored yet.
      case bytes(SharedBytes)
      /// A file whose bytes are read when they are stored.
      case file(path: String)
      /// Bytes that are in a store.
      case stored(SHA256.Digest, any AttachmentSource)
    }

    package init(
      contentType: String, length: Int, generation: UInt64, body: Body,
      foreignDigest: ForeignDigest? = nil
    ) {
      self.contentType = contentType
      self.length = length
      self.generation = generation
      self.body = body
      self.foreignDigest = foreignDigest
    }
  }
}

extension Document.Attachment {
  /// Another store's digest of an attachment's content, in that store's own terms.
  ///
  /// ```swift
  /// photo.foreignDigest = Document.Attachment.ForeignDigest("md5-rL0Y20zC+Fzt72VPzMSk2A==")
  /// ```
  ///
  /// CouchDB's digest of a text is that of its compressed bytes, which depend on the compressor. So
  /// the digest is kept as received and never computed here. A replicator compares it with what
  /// that store reports later, and does not send equal content again.
  public struct ForeignDigest: Sendable, Hashable {
    /// The digest as that store writes it: `md5-…` or `sha1-…`, for example.
    public var text: String
    /// The encoding of the content in that store, for example `gzip`; nil if it is not encoded.
    public var encoding: String?
    /// The length of the encoded content in bytes; nil if it is not encoded.
    public var encodedLength: Int?

    /// Creates a digest of another store.
    ///
    /// Each text may have up to 1,024 bytes of UTF-8; storing a longer one throws
    /// ``DatabaseError/Code/invalidAttachment``.
    public init(_ text: String, encoding: String? = nil, encodedLength: Int? = nil) {
      self.text = text
      self.encoding = encoding
      self.encodedLength = encodedLength
    }
  }
}

/// The store that contains the content of an attachment.
package protocol AttachmentSource: AnyObject, Sendable {
  /// Opens the content with this digest.
  func open(_ digest: SHA256.Digest) throws(DatabaseError) -> AttachmentReader
}

extension Document.Attachment {
  /// Creates an attachment from bytes in memory.
  ///
  /// - Parameters:
  ///   - contentType: The content's MIME type.
  ///   - content: The bytes.
  public init(contentType: String, _ content: some Sequence<UInt8>) {
    let bytes = SharedBytes(copying: Array(content))
    self.init(contentType: contentType, length: bytes.count, generation: 0, body: .bytes(bytes))
  }

  /// Creates an attachment from the contents of a file.
  ///
  /// The file is read in pieces when the document is stored, inside the transaction; it must not
  /// change until then. ``Database/storeAttachment(contentType:file:)-53rov`` reads the file before
  /// the transaction, so that no other writer waits.
  ///
  /// - Parameters:
  ///   - contentType: The content's MIME type.
  ///   - file: The file's path.
  /// - Throws: ``DatabaseError`` with the code `notFound`, `accessDenied` or `inputOutput`.
  public init(contentType: String, file: String) throws {
    let status: FileStatus
    let path: String
    do throws(SystemError) {
      status = try POSIXFileSystem().status(file)
      // The file is read later, when the working directory may be another one.
      path = try POSIXFileSystem().absolutePath(file)
    } catch {
      throw DatabaseError(error)
    }
    guard status.kind == .file else {
      throw DatabaseError(
        .inputOutput, "only files can be attached, and this is not one", hint: "Choose a file",
        path: file)
    }
    self.init(
      contentType: contentType, length: status.size, generation: 0, body: .file(path: path))
  }

  /// Returns the whole content, checked against its digest.
  ///
  /// Takes as much memory as the content is long; ``pieces(_:)`` takes little.
  /// - Throws: ``DatabaseError`` with the code `damaged` if the content is missing or is not what
  ///   was stored, `closed` or `inputOutput`; `notFound` if another process has removed the content
  ///   since, while the database was open for reading only or suspended, or if the attachment is
  ///   one of a live result and was removed.
  public func data() throws -> Data { try read(nil) }

  /// Returns a part of the content, checked against the checksums stored with it.
  ///
  /// The part of `range` beyond the end is ignored. Reads whole chunks, mostly of 64 KiB.
  /// - Throws: The same errors as ``data()-4s5kk``.
  public func data(in range: Range<Int>) throws -> Data {
    try read(range.clamped(to: 0..<length))
  }

  /// Returns the content, or a part of it, and calls a closure before it reads each piece.
  func read(_ range: Range<Int>?, willRead: () throws -> Void = {}) throws -> Data {
    if case .bytes(let bytes) = body {
      let range = range ?? 0..<bytes.count
      return Data(bytes.suffix(from: range.lowerBound).prefix(range.count).array)
    }
    var pieces = try pieces(range)
    // The number of bytes is known for certain only once the content is open.
    var data = Data(capacity: range?.count ?? length)
    try willRead()
    while let piece = try pieces.next() {
      data.append(piece)
      try willRead()
    }
    return data
  }

  /// Returns the content, or a part of it, in pieces, using little memory.
  ///
  /// - Parameter range: The part to read; nil reads all of it.
  /// - Returns: The pieces, in order.
  /// - Throws: The same errors as ``data()-4s5kk``.
  public func pieces(_ range: Range<Int>? = nil) throws -> AttachmentPieces {
    let whole = 0..<length
    switch body {
    case .bytes(let bytes):
      let digest = SHA256.digest(of: bytes)
      return AttachmentPieces(
        reading: .inline(bytes, digest: digest), range?.clamped(to: whole))
    case .file(let path):
      return try AttachmentPieces(readingFile: path, (range ?? whole).clamped(to: whole))
    case .stored(let digest, let source):
      let reader = try source.open(digest)
      guard reader.length == length else {
        throw DatabaseError(
          .damaged, "the attachment has \(reader.length) bytes instead of \(length)")
      }
      return AttachmentPieces(reading: reader, range)
    }
  }

  /// The digest of the content: `sha256-` and the SHA-256 in base64.
  ///
  /// It is nil for a file that is not stored yet. For bytes that are not stored yet, it is computed
  /// each time.
  public var digest: String? {
    switch body {
    case .bytes(let bytes): SHA256.digest(of: bytes).attachmentText
    case .file: nil
    case .stored(let digest, _): digest.attachmentText
    }
  }
}

extension SHA256.Digest {
  /// `sha256-` and the bytes in base64.
  package var attachmentText: String { "sha256-" + Data(bytes).base64EncodedString() }

  /// Reads what ``attachmentText`` writes; nil if the text is not a digest.
  init?(attachmentText text: String) {
    guard text.hasPrefix("sha256-"), let bytes = Data(base64Encoded: String(text.dropFirst(7)))
    else { return nil }
    var reader = ByteReader(SharedBytes(copying: Array(bytes)))
    guard let digest = try? reader.readDigest(), reader.isAtEnd else { return nil }
    self = digest
  }
}

extension Document.Attachment: Equatable {
  /// Whether both have the same type and the same content.
  public static func == (a: Document.Attachment, b: Document.Attachment) -> Bool {
    guard a.contentType == b.contentType, a.length == b.length else { return false }
    if case .file(let a) = a.body, case .file(let b) = b.body { return a == b }
    return a.digest != nil && a.digest == b.digest
  }
}

/// The content of an attachment in pieces: `while let piece = try pieces.next() { … }`.
///
/// ```swift
/// var pieces = try stored.attachments["photo"]?.pieces()
/// while let piece = try pieces?.next() { size += piece.count }
/// ```
public struct AttachmentPieces: Cursor, Sendable {
  private var source: Source

  private enum Source: Sendable {
    case stored(AttachmentStream)
    case file(any OpenFile, offset: Int, end: Int)
  }

  init(reading reader: AttachmentReader, _ range: Range<Int>?) {
    source = .stored(range.map { reader.stream($0) } ?? reader.stream())
  }

  init(readingFile path: String, _ range: Range<Int>) throws(DatabaseError) {
    do throws(SystemError) {
      source = .file(
        try POSIXFileSystem().open(path, .reading), offset: range.lowerBound, end: range.upperBound)
    } catch {
      throw DatabaseError(error)
    }
  }

  /// Returns the next piece; nil at the end.
  ///
  /// - Throws: ``DatabaseError`` with the code `damaged` or `inputOutput`.
  public mutating func next() throws -> Data? {
    switch source {
    case .stored(var stream):
      defer { source = .stored(stream) }
      do throws(LogError) {
        return try stream.next().map { Data($0.array) }
      } catch {
        throw DatabaseError(error)
      }
    case .file(let file, let offset, let end):
      guard offset < end else { return nil }
      do throws(SystemError) {
        let piece = try file.read(min(AttachmentPieces.fileReadSize, end - offset), at: offset)
        source = .file(file, offset: piece.isEmpty ? end : offset + piece.count, end: end)
        return piece.isEmpty ? nil : Data(piece.array)
      } catch {
        throw DatabaseError(error)
      }
    }
  }

  private static let fileReadSize = 256 << 10
}
