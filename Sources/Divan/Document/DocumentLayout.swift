import DivanLog

/// Where the parts of a document are in the bytes of the record that it was read from, which were checked.
///
/// Plain numbers: they are handed on with each document that is read, and the parts that nobody asks for are never made.
/// FILE_FORMAT.md §9
struct DocumentLayout: BitwiseCopyable, Sendable {
  var sequence: UInt64 = 0
  /// The revision's generation.
  var generation: UInt64 = 1
  /// Where what follows the generation stands.
  var digestStart: UInt32 = 0
  /// Where that of the parent stands; 0 if none is known.
  var parentStart: UInt32 = 0
  /// Where the properties begin, which go to the end.
  var bodyStart: UInt32 = 0
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
  /// Behind the flags and its own size.
  private static let idStart = 2

  /// Where the document's ID is, in UTF-8.
  var idRange: Range<Int> { DocumentLayout.idStart..<DocumentLayout.idStart + Int(idSize) }

  var isDeleted: Bool { traits.contains(.deleted) }

  /// The properties in their binary form.
  func body(in bytes: SharedBytes) -> SharedBytes { bytes.suffix(from: Int(bodyStart)) }

  /// The revision.
  ///
  /// Mapped bytes may come from the medium anew after they were checked. If a foreign digest is none any more, the
  /// revision is one that no document has, so that whoever changes it is told of a conflict.
  func revision(in bytes: SharedBytes) -> RevisionID {
    let digest = digest(at: digestStart, isForeign: traits.contains(.foreignDigest), in: bytes)
    return RevisionID(generation: generation, digest: digest ?? .foreign("unreadable"))
  }

  /// The revision that this one was made from; nil for a first one, and if it is not known.
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
