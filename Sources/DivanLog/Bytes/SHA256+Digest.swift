extension SHA256.Digest: Hashable, Comparable {
  package func hash(into hasher: inout Hasher) {
    // The bits of a digest are practically random: a part of them is as good a hash as all.
    hasher.combine(words.0)
  }

  /// Digests are ordered by their bytes.
  package static func < (a: Self, b: Self) -> Bool { a.words < b.words }
}

extension ByteReader {
  /// Reads a digest of 32 bytes.
  package mutating func readDigest() throws(ByteError) -> SHA256.Digest {
    guard remaining >= SHA256.Digest.size else { throw ByteError.pastTheEnd(offset) }
    return SHA256.Digest(
      words: (
        try read(UInt64.self).byteSwapped, try read(UInt64.self).byteSwapped,
        try read(UInt64.self).byteSwapped, try read(UInt64.self).byteSwapped
      ))
  }
}

extension ByteWriter {
  /// Appends the 32 bytes of a digest.
  package mutating func append(_ digest: SHA256.Digest) {
    append(digest.words.0.byteSwapped)
    append(digest.words.1.byteSwapped)
    append(digest.words.2.byteSwapped)
    append(digest.words.3.byteSwapped)
  }
}

extension SHA256 {
  /// Adds bytes to the message.
  package mutating func add(_ bytes: Span<UInt8>) {
    unsafe bytes.withUnsafeBytes { unsafe add($0) }
  }
}
