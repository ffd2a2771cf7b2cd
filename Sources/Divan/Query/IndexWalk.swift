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
    let end = value.count < IndexedValue.sizeLimit ? value.count : IndexedValue.cutSize
    var position = min(constantSize, end)
    let text = IndexedValue.type(of: .string(""))
    return value.withSpan { bytes in
      for byBytes in byBytes {
        guard position < end else { return IndexGroup(value, end, isEqual: false) }
        let type = bytes[position] & 0xF0
        if type > text || type == text && !byBytes {
          return IndexGroup(value, position, type: type, isEqual: false)
        }
        position = CollationKey.end(ofValueAt: position, in: bytes) ?? .max
        // What is cut goes on behind the end.
        if position > end { return IndexGroup(value, end, isEqual: false) }
      }
      return IndexGroup(value, position, isEqual: true)
    }
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

  fileprivate init(_ value: SharedBytes, _ size: Int, type: UInt8? = nil, isEqual: Bool) {
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
    along access: IndexAccess, _ order: IndexOrder, _ emit: (Hit) throws -> Bool
  ) throws {
    var group: (key: IndexGroup, isByID: Bool, ids: [SharedBytes])?
    var left = wanted

    func emitNext(_ hit: Hit) throws -> Bool {
      left = left.map { $0 - 1 }
      return try emit(hit)
    }

    func finishGroup() throws -> Bool {
      guard let (_, isByID, ids) = group else { return true }
      group = nil
      if isByID || ids.count == 1 {
        for id in order.isByID ? ids.reversed() : QueryRun.sorted(ids) {
          guard let hit = try accept(id, nil, filter) else { continue }
          guard try emitNext(hit) else { return false }
        }
        return true
      }
      var rows = SortedRows(limit: left)
      for id in ids {
        if let hit = try accept(id, nil, filter) { rows.add(try sortedRow(hit)) }
      }
      return try rows.forEach { try emitNext($0.hit) }
    }

    for number in access.ranges.indices {
      var entries = try access.entries(number, in: view, descending: order.descending)
      while let (value, id) = try entries.nextEntry() {
        try stopIfCancelled()
        tally.entriesRead += 1
        // Those come at the end, with those that have no entry.
        if access.isFollowedByNone, value[0] == IndexedValue.type(of: .null) { continue }
        let key = order.group(of: value)
        let isByID = key.isEqual && order.isWhole
        if let known = group?.key, known == key {
          group?.ids.append(id)
          continue
        }
        guard try finishGroup() else { return }
        guard isByID, order.isByID, !order.descending else {
          group = (key, isByID, [id])
          continue
        }
        if let hit = try accept(id, nil, filter) {
          guard try emitNext(hit) else { return }
        }
      }
    }
    guard try finishGroup(), access.isFollowedByNone else { return }
    try forEachWithout(order.path, limit: left, emit)
  }

  /// Calls `emit` with the results that have null at a path, or nothing.
  private func forEachWithout(
    _ path: QueryPath, limit: Int?, _ emit: (Hit) throws -> Bool
  ) throws {
    // The index has answered nothing for what it does not have.
    let filter = CompiledFilter(query.whole)
    let isNothing = CompiledFilter(.test(path, .equal(.null)))
    var rows = SortedRows(limit: limit)
    try scan(.all) { id, entry in
      guard let hit = try accept(id, entry, filter) else { return true }
      if try isNothing.accepts(row(try record(of: hit))) { rows.add(try sortedRow(hit)) }
      return true
    }
    _ = try rows.forEach { try emit($0.hit) }
  }
}
