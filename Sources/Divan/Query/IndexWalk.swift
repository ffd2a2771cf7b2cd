import DivanLog

/// How far the order of an index is that of the results.
struct IndexOrder: Sendable {
  /// The first thing that results are sorted by, unless it is the same in all of them.
  let path: QueryPath
  /// How many bytes the values take that are the same in all entries, and come first.
  let constantSize: Int
  /// Whether texts are sorted by their bytes, for each of the values after these that results are sorted by.
  let byBytes: [Bool]
  let descending: Bool
  /// Whether results are sorted by nothing else, so that where these values are equal their IDs decide.
  let isWhole: Bool
  /// Whether entries have no other values, so that they come in the order of their IDs where these are equal.
  let isByID: Bool

  /// What entries have in common of which the index does not know in which order they are sorted.
  ///
  /// The index has texts in the order of their bytes; of what is cut it does not know the rest, and what follows a
  /// value is in order only where all before it is known to be the same.
  func group(of value: SharedBytes) -> IndexGroup {
    let (size, type, isEqual) = value.withSpan { beginning(of: $0) }
    return IndexGroup(value, size, type, isEqual: isEqual)
  }

  /// Whether the entry of a value has its place among the results, whatever other entries there are.
  func hasPlace(for value: Span<UInt8>) -> Bool {
    isWhole && isByID && !descending && beginning(of: value).isEqual
  }

  /// How many bytes the values of a group have in common, which type follows if all of it belong to the group, and whether the
  /// values are the same.
  private func beginning(of bytes: Span<UInt8>) -> (size: Int, type: UInt8?, isEqual: Bool) {
    let end = bytes.count < IndexedValue.sizeLimit ? bytes.count : IndexedValue.cutSize
    var position = min(constantSize, end)
    let text = IndexedValue.type(of: .string(""))
    for byBytes in byBytes {
      guard position < end else { return (end, nil, false) }
      let type = bytes[position] & 0xF0
      if type > text || type == text && !byBytes { return (position, type, false) }
      position = CollationKey.end(ofValueAt: position, in: bytes) ?? .max
      // What is cut goes on behind the end.
      if position > end { return (end, nil, false) }
    }
    return (position, nil, true)
  }
}

/// Entries of an index of which it does not know the order, by what their values begin with.
struct IndexGroup: Equatable {
  private let value: SharedBytes
  private let size: Int
  /// The type of the value that follows, if all of that type belong together.
  private let type: UInt8?
  /// Whether all the values are the same.
  let isEqual: Bool

  fileprivate init(_ value: SharedBytes, _ size: Int, _ type: UInt8?, isEqual: Bool) {
    self.value = value
    self.size = size
    self.type = type
    self.isEqual = isEqual
  }

  static func == (a: Self, b: Self) -> Bool {
    a.size == b.size && a.type == b.type && a.value.prefix(a.size) == b.value.prefix(b.size)
  }

  /// What the values of all of them begin with.
  var beginning: [UInt8] { value.prefix(size).array + (type.map { [$0] } ?? []) }
}

extension CollationKey {
  /// Where the bytes of a value end, with texts in the order of their bytes; nil if they do not, or the value is an array or an
  /// object.
  fileprivate static func end(ofValueAt start: Int, in bytes: Span<UInt8>) -> Int? {
    switch bytes[start] {
    case Tag.null, Tag.no, Tag.yes: return start + 1
    case Tag.number: return start + 11
    case Tag.text:
      // A zero in a text is followed by FF.
      var position = start + 1
      while let zero = bytes.index(of: 0, from: position), zero + 1 < bytes.count {
        if bytes[zero + 1] == 0 { return zero + 2 }
        position = zero + 2
      }
      return nil
    default: return nil
    }
  }
}

extension QueryRun {
  /// Calls `emit` with the results along an index, until it returns false.
  ///
  /// Documents of one value come together, and so do those of which the index does not know the order: they are sorted
  /// before they are handed out, unless their IDs decide.
  func forEach(
    along access: IndexAccess, _ order: IndexOrder, _ emit: (inout QueryHit) throws -> Bool
  ) throws {
    var waiting = WaitingCandidates(self, areRead: readsCandidates)
    var group: (key: IndexGroup, isByID: Bool, ids: [SharedBytes])?

    func emitAccepted(_ hit: inout QueryHit) throws -> Bool {
      try accept(&hit, filter) ? try emit(&hit) : true
    }

    func finishGroup() throws -> Bool {
      guard let (_, isByID, ids) = group else { return true }
      group = nil
      guard try waiting.flush(emitAccepted) else { return false }
      if isByID || ids.count == 1 {
        for id in order.isByID ? ids.reversed() : QueryRun.sorted(ids) {
          guard try waiting.add(id, emitAccepted) else { return false }
        }
        return true
      }
      var rows = SortedRows(limit: left)
      func sort(_ hit: inout QueryHit) throws -> Bool {
        if try accept(&hit, filter) { rows.add(try sortedRow(&hit)) }
        return true
      }
      for id in ids { _ = try waiting.add(id, sort) }
      _ = try waiting.flush(sort)
      return try forEach(of: &rows, emit)
    }

    func follow() throws -> Bool {
      for number in access.ranges.indices {
        var entries = try access.entries(number, in: view, descending: order.descending)
        while try entries.advance() {
          try stopIfCancelled()
          tally.entriesRead += 1
          // Those come at the end, with those that have no entry.
          if access.isFollowedByNone,
            entries.withValue({ $0[0] == IndexedValue.type(of: .null) })
          {
            continue
          }
          if entries.withValue({ order.hasPlace(for: $0) }) {
            if group != nil, try !finishGroup() { return false }
            guard try waiting.add(entries.id, emitAccepted) else { return false }
            continue
          }
          let key = order.group(of: entries.value)
          if let known = group?.key, known == key {
            group?.ids.append(entries.id)
            continue
          }
          guard try finishGroup() else { return false }
          group = (key, key.isEqual && order.isWhole, [entries.id])
        }
      }
      return try finishGroup()
    }

    guard try follow(), try waiting.flush(emitAccepted), access.isFollowedByNone else { return }
    try forEachWithout(order.path, emit)
  }

  /// Calls `emit` with the results that have null at a path, or nothing.
  private func forEachWithout(
    _ path: QueryPath, _ emit: (inout QueryHit) throws -> Bool
  ) throws {
    // The index has answered nothing for what it does not have.
    let filter = CompiledFilter(query.whole)
    let isNothing = CompiledFilter(.test(path, .equal(.null)))
    var rows = SortedRows(limit: left)
    try scan(.all) { hit in
      if try accept(&hit, filter), try isNothing.accepts(row(of: &hit)) {
        rows.add(try sortedRow(&hit))
      }
      return true
    }
    _ = try forEach(of: &rows, emit)
  }
}
