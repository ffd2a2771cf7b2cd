/// The documents that all of several cursors have.
final class AllMatches: MatchCursor {
  private var all: Conjunction

  /// Creates an intersection of at least one cursor.
  init(_ cursors: [any MatchCursor]) throws(DatabaseError) {
    all = Conjunction(of: cursors)
    try all.move(to: 0)
  }

  var document: UInt64 { all.document }
  var cost: Int { all.cost }

  func advance(to target: UInt64) throws(DatabaseError) {
    if document < target { try all.move(to: target) }
  }

  func mark(_ window: inout DocumentWindow) throws(DatabaseError) {
    guard document < window.end else { return }
    guard DocumentWindow.isWorthwhile(cost, all.members[all.members.count - 1].cost) else {
      while document < window.end {
        window.insert(document)
        try all.move(to: document + 1)
      }
      return
    }
    var common: DocumentWindow?
    for index in all.members.indices {
      var own = DocumentWindow(around: window.start)
      try all.members[index].mark(&own)
      if let others = common { own.formIntersection(others) }
      common = own
    }
    if let common { window.formUnion(common) }
    try all.move(to: window.end)
  }

  func appendSpans(to spans: inout [MatchSpan]) throws(DatabaseError) {
    let start = spans.count
    for index in all.members.indices { try all.members[index].appendSpans(to: &spans) }
    spans[start...].sort(by: MatchSpan.precedes)
  }

  func addFrequencies(to frequencies: inout TermFrequencies) throws(DatabaseError) {
    for index in all.members.indices { try all.members[index].addFrequencies(to: &frequencies) }
  }
}

/// The documents that any of several cursors has; without cursors, none.
final class AnyMatches: MatchCursor {
  private let cursors: [any MatchCursor]
  private var heap = DocumentHeap()
  let cost: Int

  init(_ cursors: [any MatchCursor]) {
    self.cursors = cursors
    cost = cursors.reduce(0) { $0 + $1.cost }
    for (index, cursor) in cursors.enumerated() { heap.insert(cursor.document, index) }
  }

  var document: UInt64 { heap.first?.document ?? DocumentNumber.end }

  func advance(to target: UInt64) throws(DatabaseError) {
    while let first = heap.first, first.document < target {
      let cursor = cursors[first.index]
      try cursor.advance(to: target)
      heap.replaceFirst(by: cursor.document)
    }
  }

  func mark(_ window: inout DocumentWindow) throws(DatabaseError) {
    while let first = heap.first, first.document < window.end {
      let cursor = cursors[first.index]
      try cursor.mark(&window)
      heap.replaceFirst(by: cursor.document)
    }
  }

  func appendSpans(to spans: inout [MatchSpan]) throws(DatabaseError) {
    let start = spans.count
    let document = document
    for index in heap.indexes(with: document) { try cursors[index].appendSpans(to: &spans) }
    spans[start...].sort(by: MatchSpan.precedes)
  }

  func addFrequencies(to frequencies: inout TermFrequencies) throws(DatabaseError) {
    let document = document
    for index in heap.indexes(with: document) {
      try cursors[index].addFrequencies(to: &frequencies)
    }
  }
}

/// The documents of one cursor that another one does not have.
final class RemainingMatches: MatchCursor {
  private let base: any MatchCursor
  private let excluded: any MatchCursor

  init(_ base: any MatchCursor, without excluded: any MatchCursor) throws(DatabaseError) {
    (self.base, self.excluded) = (base, excluded)
    try skipExcluded()
  }

  var document: UInt64 { base.document }
  var cost: Int { base.cost }

  func advance(to target: UInt64) throws(DatabaseError) {
    guard document < target else { return }
    try base.advance(to: target)
    try skipExcluded()
  }

  func mark(_ window: inout DocumentWindow) throws(DatabaseError) {
    guard document < window.end else { return }
    guard DocumentWindow.isWorthwhile(base.cost, excluded.cost) else {
      while document < window.end {
        window.insert(document)
        try advance(to: document + 1)
      }
      return
    }
    var own = DocumentWindow(around: window.start)
    try base.mark(&own)
    var others = DocumentWindow(around: window.start)
    try excluded.mark(&others)
    own.subtract(others)
    window.formUnion(own)
    try skipExcluded()
  }

  private func skipExcluded() throws(DatabaseError) {
    while base.document != DocumentNumber.end {
      try excluded.advance(to: base.document)
      guard excluded.document == base.document else { return }
      try base.advance(to: base.document + 1)
    }
  }

  func appendSpans(to spans: inout [MatchSpan]) throws(DatabaseError) {
    try base.appendSpans(to: &spans)
  }

  func addFrequencies(to frequencies: inout TermFrequencies) throws(DatabaseError) {
    try base.addFrequencies(to: &frequencies)
  }
}
