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
    if let range = access.idRange {
      if run.readsCandidates {
        documents = DocumentPlaceCursor(run.view, range, descending: false)
      } else {
        entries = EntryCursor(run.view, range, descending: false)
      }
    } else {
      ids = try CandidateIDs(run, access, isOrdered: purpose == .inOrder)
    }
  }

  /// Moves to the next candidate; returns false at the end.
  mutating func advance(_ hit: inout QueryHit) throws(DatabaseError) -> Bool {
    // Lent: what is read of an optional value would be a copy of all of it.
    if documents != nil { return try CandidateCursor.advance(&documents!, &hit) }
    if entries != nil {
      guard let (id, entry) = try entries!.next() else { return false }
      hit.become(id, entry.place)
      return true
    }
    while !waiting.next(&hit) {
      while !waiting.isFull {
        guard let id = try ids?.next() else {
          ids = nil
          break
        }
        waiting.add(id)
      }
      guard !waiting.isEmpty else { return false }
      try waiting.bringIn()
    }
    return true
  }

  @inline(__always)
  private static func advance(
    _ documents: inout DocumentPlaceCursor, _ hit: inout QueryHit
  ) throws(DatabaseError) -> Bool {
    guard try documents.advance() else { return false }
    hit.become(documents.id, documents.place)
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
  private var found: [SharedBytes] = []
  private var nextFound = 0

  /// They come in the order of their bytes if that is asked for.
  init(_ run: QueryRun, _ access: QueryAccess, isOrdered: Bool) throws(DatabaseError) {
    switch access {
    case .nothing: break
    case .everything: scan = EntryCursor(run.view, .all, descending: false)
    case .ids(let range): scan = EntryCursor(run.view, range, descending: false)
    case .named(let ids): found = QueryRun.sorted(Set(ids.map { Array($0.utf8) }))
    case .index(let access) where access.isOneValue || !isOrdered && access.hasEachOnce:
      entries = try IndexAccessCursor(run, access)
    case .index, .intersection, .union: found = QueryRun.sorted(try run.ids(of: access))
    }
  }

  mutating func next() throws(DatabaseError) -> SharedBytes? {
    if entries != nil { return try entries!.advance() ? entries!.takeID() : nil }
    if scan != nil { return try scan!.next()?.id }
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
      while try entries.advance() { found.insert(entries.takeID().array) }
    case .nothing, .everything, .ids, .named:
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
