/// The results of a query in groups by a property, while they are added.
///
/// Stored values that are read as the same value are in one group: `Double` rounds large integers,
/// and dates and UUIDs can be written in several ways. So a group is found by the bytes of the form
/// in which the value that was read is stored. The groups are in the order of the stored values, as
/// sorted results are.
struct ResultGroups<Key: Decodable> {
  private struct Group {
    let key: Key
    var running: [RunningAggregate]
    /// The bytes of the first one of the stored values, in their sort order.
    var order: [UInt8]
  }

  /// The aggregates of a group without results.
  private let fresh: [RunningAggregate]
  private let isByBytes: Bool
  private let isReadExactly = PropertyType.isReadExactly(Key.self)
  private var groups: [[UInt8]: Group] = [:]
  /// The bytes by which groups are found, for those of each stored value that came before.
  ///
  /// It is empty if values of the type are read exactly.
  private var identities: [[UInt8]: [UInt8]] = [:]

  init(_ fresh: [RunningAggregate], isByBytes: Bool) {
    (self.fresh, self.isByBytes) = (fresh, isByBytes)
  }

  /// Adds a result to the group of its value.
  mutating func add(
    _ row: borrowing QueryRow, to key: Key, storedAs stored: Value
  ) throws(DatabaseError) {
    let order = SortKeys.bytes(of: stored, byBytes: isByBytes)
    let identity = isReadExactly ? order : bytes(identifying: key, storedAs: order)
    var group =
      groups.removeValue(forKey: identity) ?? Group(key: key, running: fresh, order: order)
    if !isReadExactly, order.lexicographicallyPrecedes(group.order) { group.order = order }
    for index in group.running.indices { try group.running[index].add(row) }
    groups[identity] = group
  }

  private mutating func bytes(identifying key: Key, storedAs order: [UInt8]) -> [UInt8] {
    if let known = identities[order] { return known }
    let form = PropertyType.storedForm(of: key)
    let identity = form.map { SortKeys.bytes(of: $0, byBytes: isByBytes) } ?? order
    identities[order] = identity
    return identity
  }

  /// Returns the key of each group, and its aggregates, in the order of the groups.
  func sorted() -> [(key: Key, running: [RunningAggregate])] {
    groups.values.sorted { $0.order.lexicographicallyPrecedes($1.order) }
      .map { (key: $0.key, running: $0.running) }
  }
}
