/// The documents that all of several cursors have.
///
/// Frequent words have many thousands of documents in common, so terms and counted documents are
/// moved in place: without a call through a protocol, and without counting references.
struct Conjunction {
  /// One of the cursors.
  struct Member {
    private var term: TermCursor?
    private var counted: CountedCursor?
    private let other: (any MatchCursor)?

    /// Takes the place of a cursor, which must not be used any longer.
    init(_ cursor: any MatchCursor) {
      term = (cursor as? TermMatches)?.cursor
      counted = (cursor as? CountedMatches)?.cursor
      other = term == nil && counted == nil ? cursor : nil
    }

    var cost: Int { term?.cost ?? counted?.cost ?? other?.cost ?? 0 }

    /// Moves to the first document that is not before `target`, and returns it.
    mutating func advance(to target: UInt64) throws(DatabaseError) -> UInt64 {
      if let document = try term?.advance(to: target) { return document }
      if let document = counted?.advance(to: target) { return document }
      try other?.advance(to: target)
      return other?.document ?? DocumentNumber.end
    }

    /// The signature of the places in the current document; any if they are not known.
    mutating func signature() throws(DatabaseError) -> PlaceSignature {
      try term?.signature() ?? .any
    }

    mutating func mark(_ window: inout DocumentWindow) throws(DatabaseError) {
      try term?.mark(&window)
      try other?.mark(&window)
      counted?.mark(&window)
    }

    mutating func appendOccurrences(to places: inout [Occurrence]) throws(DatabaseError) {
      precondition(counted == nil, "the words of a phrase were counted")
      try term?.appendOccurrences(to: &places)
      try other?.appendOccurrences(to: &places)
    }

    mutating func appendSpans(to spans: inout [MatchSpan]) throws(DatabaseError) {
      precondition(counted == nil, "the words of a phrase were counted")
      try term?.appendSpans(to: &spans)
      try other?.appendSpans(to: &spans)
    }

    // It changes nothing, but a member would be copied to call it otherwise.
    mutating func addFrequencies(to frequencies: inout TermFrequencies) throws(DatabaseError) {
      try term?.addFrequencies(to: &frequencies)
      counted?.addFrequencies(to: &frequencies)
      try other?.addFrequencies(to: &frequencies)
    }
  }

  /// The one with the fewest documents first.
  var members: [Member]
  /// The current document, or ``DocumentNumber/end``.
  private(set) var document = DocumentNumber.end

  /// Creates an intersection of at least one cursor, the one with the fewest documents first.
  ///
  /// It is at the end before it is moved.
  init(_ members: [Member]) {
    precondition(!members.isEmpty, "an intersection of nothing")
    self.members = members
  }

  /// Creates an intersection of at least one cursor, which takes the cursors' places.
  init(of cursors: [any MatchCursor]) {
    self.init(cursors.map(Member.init).sorted { $0.cost < $1.cost })
  }

  var cost: Int { members[0].cost }

  /// Moves to the first document from `target` on that all cursors have; false at the end.
  @discardableResult
  mutating func move(to target: UInt64) throws(DatabaseError) -> Bool {
    document = DocumentNumber.end
    var target = target
    var index = 0
    while index < members.count {
      let found = try members[index].advance(to: target)
      if found == DocumentNumber.end { return false }
      index = found > target && index > 0 ? 0 : index + 1
      target = found
    }
    document = target
    return true
  }
}
