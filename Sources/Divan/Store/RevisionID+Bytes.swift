import DivanLog

/// How revision digests stand in records and in the index. FILE_FORMAT.md §9
extension RevisionID.Digest {
  /// Appends the digest: sixteen bytes; or, where foreign ones may stand, their length first, which is
  /// 0 for the sixteen bytes of our own.
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
      throw ByteError(offset: offset, reason: "a revision ID that is too long")
    }
    guard let text = String(utf8: bytes.extracting(try bytes.readRange(length, at: &offset))) else {
      throw ByteError(offset: offset, reason: "a revision ID that is no text")
    }
    return .foreign(text)
  }
}

extension RevisionID {
  var isForeign: Bool { digest.isForeign }

  /// The revision of a generation that was read; nil if there is no such generation.
  static func read(_ generation: UInt64, _ digest: Digest) -> RevisionID? {
    guard generation >= 1, generation <= generationLimit else { return nil }
    return RevisionID(generation: generation, digest: digest)
  }
}
