import DivanLog

/// The stored form of revision digests in records and in the index. FILE_FORMAT.md §9
extension RevisionID.Digest {
  /// Appends the digest: sixteen bytes, after a length if digests of other stores are possible.
  ///
  /// The length is 0 for the sixteen bytes of one of our own.
  func encode(to writer: inout ByteWriter, isForeign: Bool) {
    switch kind {
    case .own(let high, let low):
      if isForeign { writer.append(0 as UInt8) }
      writer.append(high.bigEndian)
      writer.append(low.bigEndian)
    case .foreign(let text):
      withUTF8(of: text) { (bytes: Span<UInt8>) in
        writer.appendVarint(bytes.count)
        writer.append(bytes)
      }
    }
  }

  /// Checks a digest as ``read(_:at:isForeign:)`` does, and moves past it.
  @inline(__always)
  static func skip(
    _ bytes: Span<UInt8>, at offset: inout Int, isForeign: Bool
  ) throws(ByteError) {
    if isForeign {
      _ = try read(bytes, at: &offset, isForeign: true)
    } else {
      _ = try bytes.readRange(16, at: &offset)
    }
  }

  static func read(
    _ bytes: Span<UInt8>, at offset: inout Int, isForeign: Bool
  ) throws(ByteError) -> RevisionID.Digest {
    let length = isForeign ? try bytes.readCount(limit: bytes.count - offset, at: &offset) : 0
    guard length > 0 else {
      let high = UInt64(bigEndian: try bytes.read(UInt64.self, at: &offset))
      let low = UInt64(bigEndian: try bytes.read(UInt64.self, at: &offset))
      return .own(high, low)
    }
    guard length <= RevisionID.digestSizeLimit else {
      throw ByteError(offset: offset, reason: "the revision ID is too long")
    }
    guard let text = String(utf8: bytes.extracting(try bytes.readRange(length, at: &offset))) else {
      throw ByteError(offset: offset, reason: "the revision ID is not valid UTF-8")
    }
    return .foreign(text)
  }
}

extension RevisionID {
  var isForeign: Bool { digest.isForeign }

  /// The valid generations.
  static let generations = 1...generationLimit

  /// Returns the revision of a generation that was read; nil if the generation is invalid.
  static func read(_ generation: UInt64, _ digest: Digest) -> RevisionID? {
    guard generations.contains(generation) else { return nil }
    return RevisionID(generation: generation, digest: digest)
  }
}
