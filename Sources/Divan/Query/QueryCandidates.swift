import DivanLog

// Finding the candidates of a query.

/// The documents that an access finds, each once, with where they are; some of them may be none, or deleted.
struct CandidateCursor: ~Copyable {
  /// Where all documents of a range are candidates, and most probably are read.
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
  }

  init(_ run: QueryRun, _ access: QueryAccess, for purpose: Purpose) throws(DatabaseError) {
    waiting = WaitingCandidates(
      run, areRead: run.readsCandidates, areAllWanted: purpose == .sorting)
    // Each is set once: what is large costs its destruction, too, where nothing stood.
    guard let range = access.idRange else {
      documents = nil
      entries = nil
      ids = try CandidateIDs(run, access, isOrdered: purpose == .inOrder)
      return
    }
    let areRead = run.readsCandidates
    documents = areRead ? DocumentPlaceCursor(run.view, range, descending: false) : nil
    entries = areRead ? nil : EntryCursor(run.view, range, descending: false)
    ids = nil
  }

  /// Moves to the next candidate; returns false at the end.
  mutating func advance(_ hit: inout QueryHit) throws(DatabaseError) -> Bool {
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
