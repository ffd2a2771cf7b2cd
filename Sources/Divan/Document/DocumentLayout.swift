import DivanLog

/// The positions of a document's parts in the validated bytes of the record that it was read from.
///
/// Plain numbers: they are passed on with each document that is read, and parts that are not
/// requested are never created. FILE_FORMAT.md §9
struct DocumentLayout: BitwiseCopyable, Sendable {
  var sequence: UInt64 = 0
  /// The revision's generation.
  var generation: UInt64 = 1
  /// The offset of the bytes after the generation.
  var digestStart: UInt32 = 0
  /// The offset of the parent's digest; 0 if no parent is known.
  var parentStart: UInt32 = 0
  /// The offset of the properties, which extend to the end.
  var propertiesStart: UInt32 = 0
  var idSize: UInt8 = 0
  var traits: Traits = []

  struct Traits: OptionSet, BitwiseCopyable, Sendable {
    let rawValue: UInt8
    static let deleted = Traits(rawValue: 1)
    static let foreignDigest = Traits(rawValue: 2)
    static let foreignAncestors = Traits(rawValue: 4)
  }
}

extension DocumentLayout {
  /// After the flags and its own size.
  private static let idStart = 2

  /// The range of the document's ID, in UTF-8.
  var idRange: Range<Int> { DocumentLayout.idStart..<DocumentLayout.idStart + Int(idSize) }

  var isDeleted: Bool { traits.contains(.deleted) }

  /// The properties in their binary form.
  func properties(in bytes: SharedBytes) -> SharedBytes { bytes.suffix(from: Int(propertiesStart)) }

  /// Returns the revision.
  ///
  /// Mapped bytes may be read from the medium again after they were checked. If another store's
  /// digest is then no longer valid, the result is a revision that no document has, so that a write
  /// based on it reports a conflict.
  func revision(in bytes: SharedBytes) -> RevisionID {
    let digest = digest(at: digestStart, isForeign: traits.contains(.foreignDigest), in: bytes)
    return RevisionID(generation: generation, digest: digest ?? .foreign("unreadable"))
  }

  /// Returns the parent revision; nil for a first revision, or if it is not known.
  func parent(in bytes: SharedBytes) -> RevisionID? {
    guard generation > 1, parentStart > 0 else { return nil }
    let digest = digest(at: parentStart, isForeign: traits.contains(.foreignAncestors), in: bytes)
    return digest.flatMap { RevisionID.read(generation - 1, $0) }
  }

  private func digest(
    at start: UInt32, isForeign: Bool, in bytes: SharedBytes
  ) -> RevisionID.Digest? {
    bytes.withSpan { bytes in
      var offset = Int(start)
      return try? RevisionID.Digest.read(bytes, at: &offset, isForeign: isForeign)
    }
  }
}
