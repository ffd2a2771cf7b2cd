/// The documents whose words of several parts are at certain places: phrases and neighbours.
///
/// Each document that all parts have is checked by the places of the parts in it.
class PositionMatches: MatchCursor {
  fileprivate let parts: [any MatchCursor]
  private let candidates: AllMatches
  private let part: Int?
  private var spans: [MatchSpan] = []

  /// Creates a cursor over at least one part.
  fileprivate init(_ parts: [any MatchCursor], part: Int?) throws(DatabaseError) {
    (self.parts, self.part) = (parts, part)
    candidates = try AllMatches(parts)
  }

  var document: UInt64 { candidates.document }
  var cost: Int { candidates.cost }

  func advance(to target: UInt64) throws(DatabaseError) {
    guard document < target else { return }
    try candidates.advance(to: target)
    try skipOthers()
  }

  fileprivate func skipOthers() throws(DatabaseError) {
    // In a variable, so that its memory is used again.
    var spans = spans
    self.spans = []
    defer { self.spans = spans }
    spans.removeAll(keepingCapacity: true)
    while candidates.document != DocumentNumber.end {
      try appendMatches(to: &spans)
      if !spans.isEmpty { return }
      try candidates.advance(to: candidates.document + 1)
    }
  }

  /// Appends the matches in the document that all parts have, in order.
  fileprivate func appendMatches(to spans: inout [MatchSpan]) throws(DatabaseError) {}

  func appendSpans(to spans: inout [MatchSpan]) { spans += self.spans }

  func addFrequencies(to frequencies: inout TermFrequencies) throws(DatabaseError) {
    if let part {
      for span in spans { frequencies.add(1, part: part, field: span.field) }
    } else {
      for part in parts { try part.addFrequencies(to: &frequencies) }
    }
  }
}

/// The documents with a phrase: words at fixed distances, in one property.
///
/// The words of a phrase can be cursors over several terms, such as all terms with a prefix.
final class PhraseMatches: PositionMatches {
  /// The distance of each word from the first one.
  private let distances: [Int]
  /// The number of words from the first to the last one.
  private let length: Int
  /// The places of each word in the current document.
  private var places: [[Occurrence]]

  /// Creates a cursor over words and their places in the phrase, which ascend.
  ///
  /// `part` is the number of the phrase among the ranked parts of the query; nil ranks its words.
  init(
    _ words: [(cursor: any MatchCursor, offset: Int)], part: Int? = nil
  ) throws(DatabaseError) {
    distances = words.map { $0.offset - words[0].offset }
    length = (distances.last ?? 0) + 1
    places = Array(repeating: [], count: words.count)
    try super.init(words.map(\.cursor), part: part)
    try skipOthers()
  }

  override fileprivate func appendMatches(to spans: inout [MatchSpan]) throws(DatabaseError) {
    var places = places
    self.places = []
    defer { self.places = places }
    for index in places.indices {
      places[index].removeAll(keepingCapacity: true)
      try parts[index].appendOccurrences(to: &places[index])
      // The starts of a phrase with this word, of which those of all words before remain.
      if index > 0 { PhraseMatches.keep(&places[0], before: places[index], by: distances[index]) }
      if places[0].isEmpty { return }
    }
    var last: Occurrence?
    // Several terms of a prefix cannot be at one place, but the same match must not count twice.
    for place in places[0] where place != last {
      spans.append(MatchSpan(field: place.field, start: place.position, length: length))
      last = place
    }
  }

  /// Keeps the places that have another one at a distance behind, in the same property.
  private static func keep(
    _ places: inout [Occurrence], before others: [Occurrence], by distance: Int
  ) {
    var kept = 0
    var next = 0
    for place in places {
      guard place.position <= Occurrence.positionLimit - distance else { continue }
      let wanted = place.moved(by: distance)
      while next < others.count, others[next] < wanted { next += 1 }
      guard next < others.count else { break }
      if others[next] == wanted {
        places[kept] = place
        kept += 1
      }
    }
    places.removeSubrange(kept...)
  }
}

/// The documents in which several parts are close to each other, in one property and any order.
///
/// There is a place at which each part occurs, and at most `distance` words are between the end of
/// the part that comes first and the begin of the one that comes last. Parts may overlap.
final class NearMatches: PositionMatches {
  private let distance: Int
  /// The matches of each part in the current document.
  private var lists: [[MatchSpan]]

  init(
    _ parts: [any MatchCursor], distance: Int, part: Int? = nil
  ) throws(DatabaseError) {
    self.distance = distance
    lists = Array(repeating: [], count: parts.count)
    try super.init(parts, part: part)
    try skipOthers()
  }

  override fileprivate func appendMatches(to spans: inout [MatchSpan]) throws(DatabaseError) {
    var lists = lists
    self.lists = []
    defer { self.lists = lists }
    for (index, part) in parts.enumerated() {
      lists[index].removeAll(keepingCapacity: true)
      try part.appendSpans(to: &lists[index])
    }
    // For each place that comes first, the nearest places of the other parts are the next ones.
    var next = Array(repeating: 0, count: lists.count)
    while true {
      var least = 0
      var (last, end) = (MatchSpan(field: -1, start: 0, length: 0), 0)
      for index in lists.indices {
        guard next[index] < lists[index].count else { return }
        let span = lists[index][next[index]]
        if MatchSpan.precedes(span, lists[least][next[least]]) { least = index }
        if MatchSpan.precedes(last, span) { last = span }
      }
      let first = lists[least][next[least]]
      if first.field == last.field, last.start - first.end <= distance {
        for index in lists.indices { end = max(end, lists[index][next[index]].end) }
        spans.append(MatchSpan(field: first.field, start: first.start, length: end - first.start))
      }
      next[least] += 1
    }
  }
}
