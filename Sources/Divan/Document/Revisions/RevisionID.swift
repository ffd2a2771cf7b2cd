import DivanLog

/// The name of a revision: `generation-digest`, as in `2-9b72b0117fa1058c3b8485ca2583dea3`.
///
/// ```swift
/// let revision = RevisionID("2-9b72b0117fa1058c3b8485ca2583dea3")
/// let generation = revision?.generation  // 2
/// ```
///
/// The generation counts the edits, starting with 1 for the first revision. The digest
/// distinguishes edits of the same generation. Divan's own digests are computed from the edit (see
/// FILE_FORMAT.md §9); the digests of other stores are kept unchanged.
///
/// Revision IDs are ordered by generation, then by the bytes of their digests.
public struct RevisionID: Sendable {
  /// The number of edits up to this revision, starting with 1.
  public let generation: UInt64
  let digest: Digest

  /// The part after the generation.
  ///
  /// Nearly all are Divan's own, which are plain numbers: they need no reference counting.
  struct Digest: Sendable {
    private let high: UInt64
    private let low: UInt64
    /// Nil for one of Divan's own.
    private let foreignText: ForeignText?
  }

  /// The largest generation.
  public static let generationLimit = UInt64(Int64.max)
  /// The maximum size of a digest's text, so that an index entry always fits in a page.
  static let digestSizeLimit = 256

  init(generation: UInt64, digest: Digest) {
    self.generation = generation
    self.digest = digest
  }

  /// Creates an ID from its parts.
  ///
  /// Returns nil if the generation is 0 or above ``generationLimit``, or the digest is empty or has
  /// more than 256 bytes.
  ///
  /// 32 hexadecimal digits are converted to lower case, as CouchDB does.
  public init?(generation: UInt64, digest: String) {
    guard generation >= 1, generation <= RevisionID.generationLimit, !digest.isEmpty,
      digest.utf8.count <= RevisionID.digestSizeLimit
    else { return nil }
    self.generation = generation
    self.digest = withUTF8(of: digest) { Digest($0) } ?? .foreign(digest)
  }
}

extension RevisionID.Digest {
  /// Parses 32 hexadecimal digits of either case, or returns nil.
  init?(_ text: Span<UInt8>) {
    guard text.count == 32 else { return nil }
    var words: (UInt64, UInt64) = (0, 0)
    for index in 0..<32 {
      let digit: UInt64
      switch text[index] {
      case let byte where byte >= 0x30 && byte <= 0x39: digit = UInt64(byte - 0x30)
      case let byte where byte >= 0x61 && byte <= 0x66: digit = UInt64(byte - 0x61 + 10)
      case let byte where byte >= 0x41 && byte <= 0x46: digit = UInt64(byte - 0x41 + 10)
      default: return nil
      }
      if index < 16 { words.0 = words.0 << 4 | digit } else { words.1 = words.1 << 4 | digit }
    }
    self = .own(words.0, words.1)
  }

  var text: String {
    switch kind {
    case .own(let high, let low): high.hexadecimalText + low.hexadecimalText
    case .foreign(let text): text
    }
  }
}

extension RevisionID.Digest {
  /// The kinds of digests.
  ///
  /// Invariant: `.foreign` is not empty, and never a digest that `.own` can represent.
  enum Kind {
    /// 32 lower-case hexadecimal digits, as numbers of 16 each.
    case own(UInt64, UInt64)
    case foreign(String)
  }

  static func own(_ high: UInt64, _ low: UInt64) -> Self {
    Self(high: high, low: low, foreignText: nil)
  }

  static func foreign(_ text: String) -> Self {
    Self(high: 0, low: 0, foreignText: ForeignText(text))
  }

  var isForeign: Bool { foreignText != nil }

  var kind: Kind {
    if let foreignText { return .foreign(foreignText.text) }
    return .own(high, low)
  }

  /// A text in an object, so that it can be passed as a reference.
  fileprivate final class ForeignText: Sendable {
    let text: String

    init(_ text: String) { self.text = text }
  }
}

extension RevisionID: LosslessStringConvertible {
  /// Parses `generation-digest`; returns nil if `text` does not have that form.
  ///
  /// The generation consists of digits only and is at least 1; leading zeros are dropped. The
  /// digest is the text after the first hyphen, of 1 to 256 bytes.
  public init?(_ text: String) {
    let utf8 = text.utf8
    guard let hyphen = utf8.firstIndex(of: 0x2D), hyphen > utf8.startIndex else { return nil }
    var generation: UInt64 = 0
    for byte in utf8[..<hyphen] {
      guard byte >= 0x30, byte <= 0x39, generation <= RevisionID.generationLimit / 10 else {
        return nil
      }
      generation = generation * 10 + UInt64(byte - 0x30)
    }
    // A cut next to an ASCII character is between two Unicode scalars.
    self.init(generation: generation, digest: String(text[utf8.index(after: hyphen)...]))
  }

  /// Parses `generation-digest`.
  ///
  /// - Throws: ``DatabaseError/Code/invalidRevisionID``.
  public init(parsing text: String) throws(DatabaseError) {
    guard let parsed = RevisionID(text) else {
      throw DatabaseError(
        .invalidRevisionID, "\(text.excerpt.debugDescription) is not a revision ID",
        hint: "It is a number above 0, a hyphen and a digest of at most 256 bytes.")
    }
    self = parsed
  }

  /// `generation-digest`.
  public var description: String { "\(generation)-\(digestText)" }

  /// The part after the hyphen.
  public var digestText: String { digest.text }
}

extension RevisionID: Hashable, Comparable {
  /// Whether both have the same bytes as text.
  public static func == (a: RevisionID, b: RevisionID) -> Bool {
    guard a.generation == b.generation else { return false }
    switch (a.digest.kind, b.digest.kind) {
    case (.own(let a0, let a1), .own(let b0, let b1)): return a0 == b0 && a1 == b1
    case (.foreign(let a), .foreign(let b)): return haveSameUTF8(a, b)
    default: return false
    }
  }

  /// Feeds the compared properties into the hasher.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(generation)
    switch digest.kind {
    case .own(let high, let low):
      // Both, because otherwise chosen digests could make a set of them slow.
      hasher.combine(high)
      hasher.combine(low)
    case .foreign(let text): hasher.combine(text)
    }
  }

  /// Whether `a` has the lower generation or, in the same generation, the digest of lower bytes.
  public static func < (a: RevisionID, b: RevisionID) -> Bool {
    if a.generation != b.generation { return a.generation < b.generation }
    if case .own(let a0, let a1) = a.digest.kind, case .own(let b0, let b1) = b.digest.kind {
      // Digits and lower-case letters are in the order of the numbers that they represent.
      return (a0, a1) < (b0, b1)
    }
    return compareUTF8(a.digestText, b.digestText) < 0
  }
}

extension RevisionID: Codable {
  /// Reads the text form.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let parsed = RevisionID(text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "\(text.excerpt.debugDescription) is not a revision ID")
    }
    self = parsed
  }

  /// Writes the text form.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
