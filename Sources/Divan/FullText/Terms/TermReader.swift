/// A term of an index, and the number of documents that have it.
struct TermEntry: Hashable, Sendable {
  let term: [UInt8]
  let documentCount: Int
}

/// The terms of an index in the order of their bytes.
///
/// The pages of an index and lists in memory are read through it alike.
protocol TermReader {
  /// The error of reading.
  associatedtype Failure: Error

  /// Returns the next term; nil at the end.
  mutating func next() throws(Failure) -> TermEntry?

  /// Moves to before the first term that is not less than `target`, which is ahead.
  mutating func seek(to target: [UInt8]) throws(Failure)
}

/// The terms of a sorted list.
struct TermList: TermReader {
  typealias Failure = Never

  private let entries: [TermEntry]
  private var index = 0

  /// Creates a reader of terms in ascending order.
  init(_ entries: [TermEntry]) { self.entries = entries }

  mutating func next() throws(Never) -> TermEntry? {
    guard index < entries.count else { return nil }
    index += 1
    return entries[index - 1]
  }

  mutating func seek(to target: [UInt8]) throws(Never) {
    var end = entries.count
    while index < end {
      let middle = (index + end) / 2
      if entries[middle].term.lexicographicallyPrecedes(target) {
        index = middle + 1
      } else {
        end = middle
      }
    }
  }
}

extension TermReader {
  /// Returns the terms with a prefix, in order, up to a number of them.
  consuming func terms(
    withPrefix prefix: [UInt8], limit: Int
  ) throws(Failure) -> [TermEntry] {
    var found: [TermEntry] = []
    try seek(to: prefix)
    while found.count < limit, let entry = try next(), entry.term.starts(with: prefix) {
      found.append(entry)
    }
    return found
  }

  /// Returns the terms within an edit distance of a word, in order, each with its distance.
  ///
  /// With `isPrefix`, it is enough that a term begins so. Most terms that cannot match are skipped.
  consuming func terms(
    near word: [UInt8], maxDistance: Int, isPrefix: Bool = false
  ) throws(Failure) -> [(entry: TermEntry, distance: Int)] {
    var found: [(entry: TermEntry, distance: Int)] = []
    var matcher = FuzzyMatcher(word, maxDistance: maxDistance, isPrefix: isPrefix)
    while let entry = try next() {
      if let distance = matcher.distance(of: entry.term) {
        found.append((entry, distance))
      } else if let skipped = matcher.skippablePrefix {
        guard let target = skipped.afterPrefix else { break }
        // A term that is no text may be behind what it is read as.
        if entry.term.lexicographicallyPrecedes(target) { try seek(to: target) }
      }
    }
    return found
  }

  /// Returns the terms that someone may have meant who wrote a word: “did you mean”.
  ///
  /// Terms at a smaller distance come first, then those that more documents have. The word itself
  /// is not among them. Words of up to three letters have terms at distance 1 only, because at 2
  /// nothing of them is left.
  consuming func suggestions(
    for word: [UInt8], limit: Int
  ) throws(Failure) -> [TermEntry] {
    let maxDistance = word.scalars.count <= 3 ? 1 : FuzzyMatcher.distanceLimit
    let found = try terms(near: word, maxDistance: maxDistance).filter { $0.distance > 0 }
    return found.sorted {
      if $0.distance != $1.distance { return $0.distance < $1.distance }
      if $0.entry.documentCount != $1.entry.documentCount {
        return $0.entry.documentCount > $1.entry.documentCount
      }
      return $0.entry.term.lexicographicallyPrecedes($1.entry.term)
    }
    .prefix(max(limit, 0)).map(\.entry)
  }
}
