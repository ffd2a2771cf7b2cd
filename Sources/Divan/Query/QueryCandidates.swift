import DivanLog

// Finding the candidates of a query.

extension QueryRun {
  /// Calls `body` with each candidate once, until it returns false.
  ///
  /// - Parameters:
  ///   - access: where candidates come from.
  ///   - isOrdered: whether they are to come in the order of their IDs.
  ///   - body: given what the index knows of a candidate: it may be no document.
  /// - Throws: what reading and `body` throw.
  func forEachCandidate(
    _ access: QueryAccess, isOrdered: Bool, _ body: (inout QueryHit) throws -> Bool
  ) throws {
    switch access {
    case .everything: try scan(.all, body)
    case .ids(let range): try scan(range, body)
    case .nothing, .named, .index, .intersection, .union:
      var waiting = WaitingCandidates(self, areRead: readsCandidates)
      try forEachID(of: access, isOrdered: isOrdered) { try waiting.add($0, body) }
      _ = try waiting.flush(body)
    }
  }

  /// Calls `body` with each document of a range of IDs, in their order.
  func scan(_ range: IDRange, _ body: (inout QueryHit) throws -> Bool) throws {
    var hit = QueryHit()
    guard readsCandidates else {
      var entries = EntryCursor(view, range, descending: false)
      while let (id, entry) = try entries.next() {
        hit.become(id, entry.place)
        guard try body(&hit) else { return }
      }
      return
    }
    var documents = DocumentPlaceCursor(view, range, descending: false)
    while try documents.advance() {
      hit.become(documents.id, documents.place)
      guard try body(&hit) else { return }
    }
  }

  /// Calls `body` with the ID of each candidate once, until it returns false.
  func forEachID(
    of access: QueryAccess, isOrdered: Bool, _ body: (SharedBytes) throws -> Bool
  ) throws {
    switch access {
    case .nothing: return
    case .everything:
      try scan(.all) { try body($0.id) }
    case .ids(let range):
      try scan(range) { try body($0.id) }
    case .named(let ids):
      for id in QueryRun.sorted(Set(ids.map { Array($0.utf8) })) {
        guard try body(id) else { return }
      }
    case .index(let index) where index.isOneValue || !isOrdered && index.hasEachOnce:
      for number in index.ranges.indices {
        var entries = try index.entries(number, in: view)
        while try entries.advance() {
          tally.entriesRead += 1
          guard try body(entries.id) else { return }
        }
      }
    case .index, .intersection, .union:
      for id in QueryRun.sorted(try ids(of: access)) {
        guard try body(id) else { return }
      }
    }
  }

  /// How many entries ranges of an index have.
  func countEntries(of index: IndexAccess) throws -> Int {
    var count = 0
    for number in index.ranges.indices {
      var entries = try index.entries(number, in: view)
      count += try entries.countRest()
    }
    tally.entriesRead += count
    return count
  }

  /// The IDs that an access finds.
  private func ids(of access: QueryAccess) throws -> Set<[UInt8]> {
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
      for number in index.ranges.indices {
        var entries = try index.entries(number, in: view)
        while try entries.advance() {
          try stopIfCancelled()
          tally.entriesRead += 1
          found.insert(entries.id.array)
        }
      }
    case .nothing, .everything, .ids, .named:
      try forEachID(of: access, isOrdered: false) { id in
        found.insert(id.array)
        return true
      }
    }
    return found
  }

  /// IDs in the order of their bytes.
  static func sorted(_ ids: [SharedBytes]) -> [SharedBytes] {
    ids.sorted { a, b in a.withSpan { a in b.withSpan { b in compare(a, b) < 0 } } }
  }

  private static func sorted(_ ids: Set<[UInt8]>) -> [SharedBytes] {
    ids.sorted { compare($0.span, $1.span) < 0 }.map { SharedBytes(copying: $0) }
  }
}
