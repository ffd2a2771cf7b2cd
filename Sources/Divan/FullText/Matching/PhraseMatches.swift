/// The documents with a phrase: words at fixed distances, in one property.
///
/// The words of a phrase can be cursors over several terms, such as all terms with a prefix.
final class PhraseMatches: MatchCursor {
  private var words: PhraseWords
  private let part: Int?
  /// The number of words from the first to the last one.
  private let length: Int
  /// The matches in the current document.
  private var spans: [MatchSpan] = []

  /// Creates a cursor over words and their places in the phrase, which ascend.
  ///
  /// `part` is the number of the phrase among the ranked parts of the query; nil does not rank it.
  init(
    _ words: [(cursor: any MatchCursor, offset: Int)], part: Int? = nil
  ) throws(DatabaseError) {
    self.part = part
    length = words[words.count - 1].offset - words[0].offset + 1
    self.words = PhraseWords(words)
    try move(to: 0)
  }

  var document: UInt64 { words.document }
  var cost: Int { words.cost }

  func advance(to target: UInt64) throws(DatabaseError) {
    if document < target { try move(to: target) }
  }

  private func move(to target: UInt64) throws(DatabaseError) {
    spans.removeAll(keepingCapacity: true)
    var target = target
    while try words.move(to: target) {
      try words.forEachStart { start in
        spans.append(MatchSpan(field: start.field, start: start.position, length: length))
      }
      if !spans.isEmpty { return }
      target = document + 1
    }
  }

  func appendSpans(to spans: inout [MatchSpan]) { spans += self.spans }

  func addFrequencies(to frequencies: inout TermFrequencies) {
    guard let part else { return }
    for span in spans { frequencies.add(1, part: part, field: span.field) }
  }
}

/// The words of a phrase, in the documents that have all of them.
private struct PhraseWords {
  private var all: Conjunction
  /// The number of words from the first one to each member.
  private let distances: [Int]
  /// The starts of phrases with the words that were looked at, and the places of the next word.
  private var starts: [Occurrence] = []
  private var places: [Occurrence] = []

  init(_ words: [(cursor: any MatchCursor, offset: Int)]) {
    // Rare words first.
    let sorted = words.map { (Conjunction.Member($0.cursor), $0.offset - words[0].offset) }
      .sorted { $0.0.cost < $1.0.cost }
    all = Conjunction(sorted.map(\.0))
    distances = sorted.map(\.1)
  }

  var document: UInt64 { all.document }
  var cost: Int { all.cost }

  /// Moves to the first document from `target` on that has all words, and may have them at their
  /// distances; false at the end.
  mutating func move(to target: UInt64) throws(DatabaseError) -> Bool {
    var target = target
    while try all.move(to: target) {
      if try mayMatch() { return true }
      target = document + 1
    }
    return false
  }

  /// Returns false if the words are not at their distances; otherwise their places decide.
  private mutating func mayMatch() throws(DatabaseError) -> Bool {
    var common = PlaceSignature.any
    for (index, distance) in distances.enumerated() {
      common.formIntersection(try all.members[index].signature().moved(back: distance))
      if common.isEmpty { return false }
    }
    return true
  }

  /// Calls a closure with each place at which the phrase begins in the current document.
  mutating func forEachStart(_ body: (Occurrence) -> Void) throws(DatabaseError) {
    for (index, distance) in distances.enumerated() {
      places.removeAll(keepingCapacity: true)
      try all.members[index].appendOccurrences(to: &places)
      keepStarts(by: distance, isFirst: index == 0)
      if starts.isEmpty { return }
    }
    var last: Occurrence?
    // Several terms of a prefix cannot be at one place, but the same match must not count twice.
    for start in starts where start != last {
      body(start)
      last = start
    }
  }

  /// Keeps the starts that have one of the places at a distance behind, in the same property.
  private mutating func keepStarts(by distance: Int, isFirst: Bool) {
    if isFirst { starts.removeAll(keepingCapacity: true) }
    var kept = 0
    var next = 0
    for place in places where place.position >= distance {
      let start = place.moved(by: -distance)
      if isFirst {
        starts.append(start)
        continue
      }
      while next < starts.count, starts[next] < start { next += 1 }
      guard next < starts.count else { break }
      if starts[next] == start {
        starts[kept] = start
        kept += 1
        next += 1
      }
    }
    if !isFirst { starts.removeSubrange(kept...) }
  }
}
