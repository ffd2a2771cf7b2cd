import DivanLog

// Finding the candidates of a query.

/// The documents that an access finds, each once, with where they are; some of them may be none, or deleted.
struct CandidateCursor: ~Copyable {
  private let run: QueryRun
  private let purpose: Purpose
  /// Whether the filter has said something of documents before.
  private let remembersAny: Bool
  /// Where all documents are candidates in any order, and most probably are read.
  private var changes: ChangedDocumentCursor?
  /// Where all documents of a range are in the order of their IDs, and most probably are read.
  private var documents: DocumentPlaceCursor?
  /// Where all of a range are, and are not read.
  private var entries: EntryCursor?
  /// Else what is looked up.
  private var ids: CandidateIDs?
  /// Whether no ID comes after those that wait.
  private var areAllFound = false
  private var waiting: WaitingCandidates

  /// What becomes of candidates.
  enum Purpose {
    /// They come in the order of their IDs, and are taken until there are enough results.
    case inOrder
    /// They come in any order, and are taken until there are enough results.
    case inAnyOrder
    /// They come in any order, and all are taken.
    case sorting
    /// They are counted until there are enough; those of which it is remembered that they count need not come.
    case counting
  }

  init(_ run: QueryRun, _ access: QueryAccess, for purpose: Purpose) throws(DatabaseError) {
    self.run = run
    self.purpose = purpose
    remembersAny = run.remembersAny
    let areRead = run.readsCandidates
    waiting = WaitingCandidates(run, areRead: areRead, areAllWanted: purpose == .sorting)
    // Each is set once: what is large costs its destruction, too, where nothing stood.
    guard let range = access.idRange else {
      changes = nil
      documents = nil
      entries = nil
      ids = try CandidateIDs(run, access, isOrdered: purpose == .inOrder)
      return
    }
    let isInChanges = areRead && purpose != .inOrder && access.isEverything && run.view.past == nil
    changes = isInChanges ? ChangedDocumentCursor(run.view) : nil
    documents =
      areRead && !isInChanges ? CandidateCursor.documents(of: run, range, for: purpose) : nil
    entries = areRead ? nil : EntryCursor(run.view, range, descending: false)
    ids = nil
  }

  /// The documents in a range, without those of which enough is remembered.
  private static func documents(
    of run: QueryRun, _ range: IDRange, for purpose: Purpose
  ) -> DocumentPlaceCursor {
    guard run.remembersAny else { return DocumentPlaceCursor(run.view, range, descending: false) }
    let isCounting = run.counts(purpose)
    return DocumentPlaceCursor(run.view, range, descending: false) { place in
      guard let verdict = run.remembered?.verdict(of: place.sequence),
        isCounting || verdict != .accepted
      else { return false }
      run.notePassed(refused: verdict == .refused ? 1 : 0, accepted: verdict == .accepted ? 1 : 0)
      return true
    }
  }

  /// Moves to the next candidate; returns false at the end.
  mutating func advance(_ hit: inout QueryHit) throws(DatabaseError) -> Bool {
    if changes != nil { return try advanceInChanges(&hit) }
    if let isFound = try documents?.advance(&hit) { return isFound }
    if let isFound = try entries?.advance(&hit) { return isFound }
    while !waiting.next(&hit) {
      while !waiting.isFull {
        guard !areAllFound, let id = try ids?.next() else {
          areAllFound = true
          break
        }
        waiting.add(id)
      }
      guard !waiting.isEmpty else { return false }
      try waiting.bringIn()
    }
    return true
  }

  /// Moves to the next document in the order of changes, which is read by then; returns false at the end.
  private mutating func advanceInChanges(_ hit: inout QueryHit) throws(DatabaseError) -> Bool {
    while true {
      let isFound = remembersAny ? try advancePassingKnown() : try changes?.advance()
      guard isFound == true, let place = changes?.place else { return false }
      guard !place.isDeleted, let record = changes?.takeRecord() else {
        run.noteDeleted(place)
        continue
      }
      run.tally.documentsRead += 1
      hit.become(record.idBytes, place)
      hit.take(record)
      return true
    }
  }

  /// Moves to the next document in the order of changes of which more need be known than is remembered.
  private mutating func advancePassingKnown() throws(DatabaseError) -> Bool? {
    // Taken out, so that it is asked where it is and not checked for who else does.
    var remembered = run.remembered.take()
    let isCounting = run.counts(purpose)
    var (refused, accepted) = (0, 0)
    defer {
      run.remembered = remembered
      run.notePassed(refused: refused, accepted: accepted)
    }
    return try changes?.advance { sequence in
      // One that is not passed finds out whether to stop.
      if run.isCancelled { return false }
      switch remembered?.verdict(of: sequence) {
      case nil: return false
      case .deleted: break
      case .refused: refused += 1
      case .accepted:
        guard isCounting else { return false }
        accepted += 1
      }
      return true
    }
  }
}

extension DocumentPlaceCursor {
  /// Moves to the next document; returns false at the end.
  @inline(__always)
  fileprivate mutating func advance(_ hit: inout QueryHit) throws(DatabaseError) -> Bool {
    guard try advance() else { return false }
    hit.become(id, place)
    return true
  }
}

extension EntryCursor {
  /// Moves to the next document; returns false at the end.
  fileprivate mutating func advance(_ hit: inout QueryHit) throws(DatabaseError) -> Bool {
    guard let (id, entry) = try next() else { return false }
    hit.become(id, entry.place)
    return true
  }
}

/// The IDs that an access finds, each once; nothing is looked up that it does not take to find them.
struct CandidateIDs: ~Copyable {
  /// Where all documents of a range are meant.
  private var scan: EntryCursor?
  /// What is walked over, where that meets each document once.
  private var entries: IndexAccessCursor?
  /// Else what was found.
  private let found: [SharedBytes]
  private var nextFound = 0

  /// They come in the order of their bytes if that is asked for.
  init(_ run: QueryRun, _ access: QueryAccess, isOrdered: Bool) throws(DatabaseError) {
    if case .index(let access) = access, access.isOneValue || !isOrdered && access.hasEachOnce {
      scan = nil
      entries = try IndexAccessCursor(run, access)
      found = []
    } else if let range = access.idRange {
      scan = EntryCursor(run.view, range, descending: false)
      entries = nil
      found = []
    } else {
      scan = nil
      entries = nil
      found = QueryRun.sorted(try run.ids(of: access))
    }
  }

  mutating func next() throws(DatabaseError) -> SharedBytes? {
    // Of the three, one has something.
    if let id = try entries?.next() { return id }
    if let (id, _) = try scan?.next() { return id }
    guard nextFound < found.count else { return nil }
    nextFound += 1
    return found[nextFound - 1]
  }
}

extension QueryAccess {
  /// Whether every document is meant.
  fileprivate var isEverything: Bool { if case .everything = self { true } else { false } }

  /// The range whose documents are all meant, if there is one.
  fileprivate var idRange: IDRange? {
    switch self {
    case .everything: .all
    case .ids(let range): range
    case .nothing, .named, .index, .intersection, .union: nil
    }
  }
}

extension QueryRun {
  /// How many entries ranges of an index have.
  func countEntries(of index: IndexAccess) throws(DatabaseError) -> Int {
    var count = 0
    for number in index.ranges.indices {
      var entries = try index.entries(number, in: view)
      count += try entries.countRest()
    }
    tally.entriesRead += count
    return count
  }

  /// The IDs that an access finds.
  fileprivate func ids(of access: QueryAccess) throws(DatabaseError) -> Set<[UInt8]> {
    var found: Set<[UInt8]> = []
    switch access {
    case .intersection(let accesses):
      for (number, access) in accesses.enumerated() {
        let ids = try self.ids(of: .index(access))
        found = number == 0 ? ids : found.intersection(ids)
        if found.isEmpty { break }
      }
    case .union(let accesses):
      for access in accesses { found.formUnion(try ids(of: access)) }
    case .index(let index):
      var entries = try IndexAccessCursor(self, index)
      while let id = try entries.next() { found.insert(id.array) }
    case .nothing: break
    case .named(let ids): found = Set(ids.map { Array($0.utf8) })
    case .everything, .ids:
      var ids = try CandidateIDs(self, access, isOrdered: false)
      while let id = try ids.next() { found.insert(id.array) }
    }
    return found
  }

  /// IDs in the order of their bytes.
  static func sorted(_ ids: [SharedBytes]) -> [SharedBytes] {
    ids.sorted { a, b in a.withSpan { a in b.withSpan { b in compare(a, b) < 0 } } }
  }

  fileprivate static func sorted(_ ids: Set<[UInt8]>) -> [SharedBytes] {
    ids.sorted { compare($0.span, $1.span) < 0 }.map { SharedBytes(copying: $0) }
  }
}
