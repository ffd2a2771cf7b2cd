/// The encryption of the parts of one file, with one key.
///
/// Everything that a cipher seals or opens passes here. A file that is not encrypted has no
/// encryption: nil.
package final class FileEncryption: Sendable {
  private let cipher: any Cipher
  /// The key that the file's header names.
  package let keyID: UInt64
  /// The store that the file belongs to; nil for the files of attachments.
  private let storeID: StoreID?

  package init(_ cipher: any Cipher, keyID: UInt64, storeID: StoreID?) {
    self.cipher = cipher
    self.keyID = keyID
    self.storeID = storeID
  }

  /// The size of a sealed part, less that of the part, in bytes: a nonce and a tag.
  package static let overhead = 12 + 16

  /// A part of a file, with what its context says of it. FILE_FORMAT.md §21
  package enum Part: Sendable {
    /// The payload of a record of a kind.
    ///
    /// Its position is not in the context: compactions and recovery copy records unchanged between
    /// files of one key. The index and the log name the document and the sequence number, which are
    /// within.
    case record(kind: UInt8)
    /// The payload of a frame of a checkpoint or of a view's file.
    case frame(kind: UInt8, offset: Int, salt: UInt64)
    /// The head of the file of a blob.
    case blob(SHA256.Digest)
    /// A piece of a blob.
    case piece(index: Int, salt: BlobSalt)
  }
}

/// Sixteen random bytes that bind the pieces of a blob's file to its head.
package struct BlobSalt: Equatable, Sendable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}

extension FileEncryption {
  /// Seals the bytes that a writer has from `start` on, in place.
  package func seal(_ writer: inout ByteWriter, from start: Int, as part: Part) {
    let plain = writer.copy(from: start)
    writer.truncate(to: start)
    seal(plain, as: part, to: &writer)
  }

  /// Appends a sealed part.
  package func seal(_ bytes: SharedBytes, as part: Part, to writer: inout ByteWriter) {
    let start = writer.count
    let context = context(of: part)
    bytes.withSpan { bytes in
      context.withSpan { context in
        cipher.seal(bytes, key: keyID, authenticating: context, to: &writer)
      }
    }
    precondition(
      writer.count - start == bytes.count + FileEncryption.overhead,
      "The cipher sealed to a wrong size")
  }

  /// Returns a part that was sealed; throws if it is not authentic.
  package func open(_ sealed: SharedBytes, as part: Part) throws(ByteError) -> SharedBytes {
    guard sealed.count >= FileEncryption.overhead else {
      throw ByteError(offset: 0, reason: "there are too few bytes for a sealed part")
    }
    var writer = ByteWriter(capacity: sealed.count - FileEncryption.overhead)
    let context = context(of: part)
    let isAuthentic = sealed.withSpan { sealed in
      context.withSpan { context in
        cipher.open(sealed, key: keyID, authenticating: context, to: &writer)
      }
    }
    guard isAuthentic, writer.count == sealed.count - FileEncryption.overhead else {
      throw ByteError(
        offset: 0, reason: "the bytes are not those that were encrypted with this key")
    }
    return writer.sharedCopy
  }

  /// Returns the bytes that are authenticated with a part.
  private func context(of part: Part) -> SharedBytes {
    var writer = ByteWriter(capacity: 64)
    switch part {
    case .record(let kind):
      writer.append(1 as UInt8)
      appendStore(to: &writer)
      writer.append(kind)
    case .frame(let kind, let offset, let salt):
      writer.append(2 as UInt8)
      appendStore(to: &writer)
      writer.append(kind)
      writer.append(UInt64(offset))
      writer.append(salt)
    case .blob(let digest):
      writer.append(3 as UInt8)
      writer.append(digest)
    case .piece(let index, let salt):
      writer.append(4 as UInt8)
      writer.append(UInt64(index))
      writer.append(salt.high)
      writer.append(salt.low)
    }
    return writer.sharedCopy
  }

  private func appendStore(to writer: inout ByteWriter) {
    writer.append(storeID?.high ?? 0)
    writer.append(storeID?.low ?? 0)
  }
}

extension SharedBytes {
  /// Returns these bytes as they were before they were sealed; the same bytes without encryption.
  ///
  /// Everything that is read from a file that may be encrypted passes here, after its checksum was
  /// compared. Throws if the bytes are not authentic.
  package func opened(
    _ part: FileEncryption.Part, by encryption: FileEncryption?
  ) throws(ByteError) -> SharedBytes {
    guard let encryption else { return self }
    return try encryption.open(self, as: part)
  }
}
