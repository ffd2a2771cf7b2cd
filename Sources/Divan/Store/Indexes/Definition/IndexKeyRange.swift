import DivanLog

/// The key range of an index range.
///
/// It is computed once per scan, so that entries need not be compared with values. Every entry
/// between the bounds is a result, with one exception. An entry that agrees with a bound up to
/// where it is cut off needs a read of the document.
struct IndexKeyRange {
  let lower: KeyBound
  let upper: KeyBound
  /// The truncated prefixes of values for which the document must be read.
  private let undecided: [SharedBytes]

  /// Computes the key range; nil if no entry can be in the range.
  ///
  /// - Throws: `invalidQuery` if the index does not support the range.
  init?(_ range: IndexRange, of definition: IndexDefinition) throws(DatabaseError) {
    try range.check(against: definition.index)
    guard !range.isNothing else { return nil }
    let prefix = definition.keyPrefix
    var equal = CollationKey(.bytes, behind: prefix)
    var equalCount = 0
    for case .equal(let value) in range.parts {
      equal.append(value)
      equalCount += 1
    }
    var key = equal.bytes
    guard equalCount < definition.index.paths.count else {
      if key.count - prefix.count > IndexedValue.cutSize {
        // A hash replaces the cut-off part, and is equal if the values are.
        key = prefix + IndexedValue(whole: Array(key[prefix.count...])).bytes
      }
      self.init(.inclusive(key), .end(ofPrefix: key), undecided: [])
      return
    }
    let common = Array(key[prefix.count...])
    switch range.kind {
    case .all, .equal: self.init(prefix, beginningWith: common)
    case .prefix(let text):
      self.init(prefix, beginningWith: common + IndexedValue.prefix(ofTexts: text))
    case .between(let lower, let upper): self.init(prefix, common, between: lower, upper)
    }
  }

  private init(_ lower: KeyBound, _ upper: KeyBound, undecided: [SharedBytes]) {
    self.lower = lower
    self.upper = upper
    self.undecided = undecided
  }

  /// The range of entries whose values begin with these bytes.
  private init(_ prefix: [UInt8], beginningWith bytes: [UInt8]) {
    let key = prefix + bytes.prefix(IndexedValue.cutSize)
    self.init(
      .inclusive(key), .end(ofPrefix: key),
      undecided: bytes.count > IndexedValue.cutSize ? [IndexKeyRange.start(of: bytes)] : [])
  }

  /// The range of entries whose values begin with `common` and then are between two others.
  private init?(
    _ prefix: [UInt8], _ common: [UInt8], between lower: IndexRange.End?, _ upper: IndexRange.End?
  ) {
    let types = [lower, upper].compactMap { $0.map { IndexedValue.type(of: $0.value) } }
    guard let type = types.first, types.allSatisfy({ $0 == type }),
      type != IndexedValue.type(of: .null)
    else { return nil }
    guard common.count < IndexedValue.cutSize else {
      // The keys contain nothing of the value.
      self.init(prefix, beginningWith: common + [type])
      return
    }
    // No two types have the same upper half of their byte.
    var first = KeyBound.inclusive(prefix + common + [type])
    var end = KeyBound.exclusive(prefix + common + [type + 0x10])
    var undecided: [SharedBytes] = []
    /// Returns the key of an end, up to where it is cut off.
    func key(_ end: IndexRange.End) -> (bytes: [UInt8], isCut: Bool) {
      let bytes = common + IndexedValue.whole(end.value)
      let isCut = bytes.count > IndexedValue.cutSize
      if isCut { undecided.append(IndexKeyRange.start(of: bytes)) }
      return (prefix + bytes.prefix(IndexedValue.cutSize), isCut)
    }
    // All entries that begin like a cut-off end must be checked.
    if let lower {
      let (bytes, isCut) = key(lower)
      first = isCut || lower.isIncluded ? .inclusive(bytes) : .start(afterPrefix: bytes)
    }
    if let upper {
      let (bytes, isCut) = key(upper)
      end = isCut || upper.isIncluded ? .end(ofPrefix: bytes) : .exclusive(bytes)
    }
    guard let low = first.key, let high = end.key, low.lexicographicallyPrecedes(high) else {
      return nil
    }
    self.init(first, end, undecided: undecided)
  }

  /// Returns the indexed part of cut-off values that begin with these bytes.
  private static func start(of bytes: [UInt8]) -> SharedBytes {
    SharedBytes(copying: Array(bytes.prefix(IndexedValue.cutSize)))
  }

  /// Whether every entry between the bounds is a result.
  var isExact: Bool { undecided.isEmpty }

  /// Whether the document must be read to decide whether an entry with this value is a result.
  func needsDocument(for value: SharedBytes) -> Bool {
    guard !undecided.isEmpty, value.count >= IndexedValue.cutSize else { return false }
    let start = value.prefix(IndexedValue.cutSize)
    return undecided.contains(start)
  }
}
