import DivanLog

extension QueryExecution {
  /// Returns the number of entries in the ranges of an index.
  func countEntries(of index: IndexAccess) throws(DatabaseError) -> Int {
    var count = 0
    for number in index.ranges.indices {
      var entries = try index.entries(number, in: view)
      count += try entries.countRest()
    }
    tally.entriesRead += count
    return count
  }

  /// Returns the number of documents that a search for text finds.
  func countMatches(of access: FullTextAccess) throws(DatabaseError) -> Int {
    var search = try access.takeSearch(in: view)
    let count = try search.countRest()
    tally.entriesRead += count
    return count
  }

  /// Returns the IDs that an access path yields.
  func ids(of access: AccessPath) throws(DatabaseError) -> Set<[UInt8]> {
    var found: Set<[UInt8]> = []
    switch access {
    case .intersection(let accesses):
      for (number, access) in accesses.enumerated() {
        let ids = try self.ids(of: access)
        found = number == 0 ? ids : found.intersection(ids)
        if found.isEmpty { break }
      }
    case .union(let accesses):
      for access in accesses { found.formUnion(try ids(of: access)) }
    case .index(let index):
      var entries = try IndexScan(self, index)
      while let id = try entries.next() { found.insert(id.array) }
    case .fullText(let access):
      var matches = try TextSearchScan(self, access)
      while let id = try matches.next() { found.insert(id.array) }
    case .nothing: break
    case .named(let ids): found = Set(ids.map { Array($0.utf8) })
    case .everything, .ids:
      var ids = try CandidateIDs(self, RowSource(access, for: .inOrder, in: self))
      while let id = try ids.next() { found.insert(id.array) }
    }
    return found
  }

  /// Returns the IDs in the order of their bytes.
  static func sorted(_ ids: [SharedBytes]) -> [SharedBytes] {
    ids.sorted { compare($0, $1) < 0 }
  }

  static func sorted(_ ids: Set<[UInt8]>) -> [SharedBytes] {
    ids.sorted { compare($0.span, $1.span) < 0 }.map { SharedBytes(copying: $0) }
  }
}
