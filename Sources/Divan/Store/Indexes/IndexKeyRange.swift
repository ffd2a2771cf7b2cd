import DivanLog

/// A range as the keys of an index have it: between which keys its entries lie.
///
/// Made once for a walk, so that entries are not compared with values: whatever lies between the bounds is meant, but for
/// entries that begin like a bound for as long as they are not cut, about which the document is asked.
struct IndexKeyRange {
  let lower: KeyBound
  let upper: KeyBound
  /// What the values of entries begin with about which only the document knows, each as long as what stays of a value
  /// that is cut.
  private let undecided: [SharedBytes]

  /// Nil if no entry can be in the range.
  ///
  /// - Throws: `invalidQuery` if the range cannot be asked of the index.
  init?(_ range: IndexRange, of kept: KeptIndex) throws(DatabaseError) {
    try range.check(against: kept.index)
    guard !range.isNothing else { return nil }
    let prefix = kept.keyPrefix
    var equal = CollationKey(.bytes, behind: prefix)
    var equalCount = 0
    for case .equal(let value) in range.parts {
      equal.append(value)
      equalCount += 1
    }
    var key = equal.bytes
    guard equalCount < kept.index.paths.count else {
      if key.count - prefix.count > IndexedValue.cutSize {
        // A hash stands for what is cut off, and is the same if the values are.
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

  /// The entries of which the values begin with these bytes.
  private init(_ prefix: [UInt8], beginningWith bytes: [UInt8]) {
    let key = prefix + bytes.prefix(IndexedValue.cutSize)
    self.init(
      .inclusive(key), .end(ofPrefix: key),
      undecided: bytes.count > IndexedValue.cutSize ? [IndexKeyRange.start(of: bytes)] : [])
  }

  /// The entries of which the values begin with `common`, and then are between two others.
  private init?(
    _ prefix: [UInt8], _ common: [UInt8], between lower: IndexRange.End?, _ upper: IndexRange.End?
  ) {
    let types = [lower, upper].compactMap { $0.map { IndexedValue.type(of: $0.value) } }
    guard let type = types.first, types.allSatisfy({ $0 == type }),
      type != IndexedValue.type(of: .null)
    else { return nil }
    guard common.count < IndexedValue.cutSize else {
      // Nothing of the value is in the keys.
      self.init(prefix, beginningWith: common + [type])
      return
    }
    // No two types have the same upper half of their byte.
    var first = KeyBound.inclusive(prefix + common + [type])
    var end = KeyBound.exclusive(prefix + common + [type + 0x10])
    var undecided: [SharedBytes] = []
    /// The key of an end, as far as it is not cut.
    func key(_ end: IndexRange.End) -> (bytes: [UInt8], isCut: Bool) {
      let bytes = common + IndexedValue.whole(end.value)
      let isCut = bytes.count > IndexedValue.cutSize
      if isCut { undecided.append(IndexKeyRange.start(of: bytes)) }
      return (prefix + bytes.prefix(IndexedValue.cutSize), isCut)
    }
    // All that begins like an end that is cut must be looked at.
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

  /// What stays of values that begin with these bytes, and are cut.
  private static func start(of bytes: [UInt8]) -> SharedBytes {
    SharedBytes(copying: Array(bytes.prefix(IndexedValue.cutSize)))
  }

  /// Whether every entry between the bounds is meant.
  var isExact: Bool { undecided.isEmpty }

  /// Whether only the document knows if an entry with this value is meant.
  func mustAskDocument(about value: SharedBytes) -> Bool {
    guard !undecided.isEmpty, value.count >= IndexedValue.cutSize else { return false }
    let start = value.prefix(IndexedValue.cutSize)
    return undecided.contains(start)
  }
}
