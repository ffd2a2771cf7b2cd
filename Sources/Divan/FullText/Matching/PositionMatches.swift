/// The documents whose words of several parts are at certain places: phrases and neighbours.
///
/// Each document that all parts have is checked by the places of the parts in it.
class PositionMatches: MatchCursor {
  fileprivate let parts: [any MatchCursor]
  private let candidates: AllMatches
  private let part: Int?
  private var spans: [MatchSpan] = []
  private var lists: [[MatchSpan]]

  /// Creates a cursor over at least one part.
  fileprivate init(_ parts: [any MatchCursor], part: Int?) throws(DatabaseError) {
    (self.parts, self.part) = (parts, part)
    candidates = try AllMatches(parts)
    lists = Array(repeating: [], count: parts.count)
    try skipOthers()
  }

  var document: UInt64 { candidates.document }
  var cost: Int { candidates.cost }

  func advance(to target: UInt64) throws(DatabaseError) {
    guard document < target else { return }
    try candidates.advance(to: target)
    try skipOthers()
  }

  private func skipOthers() throws(DatabaseError) {
    // In variables, so that the parts do not write to properties of this object.
    var (lists, spans) = (lists, spans)
    (self.lists, self.spans) = ([], [])
    defer { (self.lists, self.spans) = (lists, spans) }
    spans.removeAll(keepingCapacity: true)
    while candidates.document != DocumentNumber.end {
      for (index, part) in parts.enumerated() {
        lists[index].removeAll(keepingCapacity: true)
        try part.appendSpans(to: &lists[index])
      }
      appendMatches(lists, to: &spans)
      if !spans.isEmpty { return }
      try candidates.advance(to: candidates.document + 1)
    }
  }

  /// Appends the matches of one document, in order, from the places of each part.
  fileprivate func appendMatches(_ lists: [[MatchSpan]], to spans: inout [MatchSpan]) {}

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
  private let offsets: [Int]

  /// Creates a cursor over words and their places in the phrase, which ascend.
  ///
  /// `part` is the number of the phrase among the ranked parts of the query; nil ranks its words.
  init(
    _ words: [(cursor: any MatchCursor, offset: Int)], part: Int? = nil
  ) throws(DatabaseError) {
    offsets = words.map(\.offset)
    try super.init(words.map(\.cursor), part: part)
  }

  override fileprivate func appendMatches(_ lists: [[MatchSpan]], to spans: inout [MatchSpan]) {
    var next = Array(repeating: 0, count: lists.count)
    let first = offsets[0]
    let length = offsets[offsets.count - 1] - first + 1
    // Several terms of a prefix cannot be at one place, but the same match must not count twice.
    for span in lists[0]
    where spans.last.map({ $0.field != span.field || $0.start != span.start }) ?? true {
      let isPhrase = lists.indices.dropFirst().allSatisfy { index in
        let place = span.start + offsets[index] - first
        let list = lists[index]
        while next[index] < list.count,
          (list[next[index]].field, list[next[index]].start) < (span.field, place)
        {
          next[index] += 1
        }
        guard next[index] < list.count else { return false }
        return list[next[index]].field == span.field && list[next[index]].start == place
      }
      if isPhrase {
        spans.append(MatchSpan(field: span.field, start: span.start, length: length))
      }
    }
  }
}

/// The documents in which several parts are close to each other, in one property and any order.
///
/// There is a place at which each part occurs, and at most `distance` words are between the end of
/// the part that comes first and the begin of the one that comes last. Parts may overlap.
final class NearMatches: PositionMatches {
  private let distance: Int

  init(
    _ parts: [any MatchCursor], distance: Int, part: Int? = nil
  ) throws(DatabaseError) {
    self.distance = distance
    try super.init(parts, part: part)
  }

  override fileprivate func appendMatches(_ lists: [[MatchSpan]], to spans: inout [MatchSpan]) {
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
