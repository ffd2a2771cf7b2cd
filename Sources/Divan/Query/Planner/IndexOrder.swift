import DivanLog

/// The extent to which the order of an index is the sort order of the results.
///
/// It is an object, because plans and executions pass it on.
final class IndexOrder: Sendable {
  /// The first property that results are sorted by, unless it is the same in all of them.
  let path: QueryPath
  /// The number of leading bytes of the values that are the same in all entries.
  let constantSize: Int
  /// For each further value that results are sorted by, whether texts are sorted by their bytes.
  let byBytes: [Bool]
  let descending: Bool
  /// Whether results are sorted by nothing else, so that IDs decide where these values are equal.
  let isWhole: Bool
  /// Whether entries have no other values, so that equal ones are in the order of their IDs.
  let isByID: Bool

  init(
    path: QueryPath, constantSize: Int, byBytes: [Bool], descending: Bool, isWhole: Bool,
    isByID: Bool
  ) {
    self.path = path
    self.constantSize = constantSize
    self.byBytes = byBytes
    self.descending = descending
    self.isWhole = isWhole
    self.isByID = isByID
  }

  /// Returns the group of entries with this value, whose order the index does not know.
  ///
  /// The index orders texts by their bytes. It does not know the rest of a value that is cut. The
  /// values that follow a value are in order only where all values before them are known to be the
  /// same.
  func group(of value: SharedBytes) -> IndexGroup {
    let (size, type, isEqual) = value.withSpan { beginning(of: $0) }
    return IndexGroup(value, size, type, isEqual: isEqual)
  }

  /// Whether an entry with this value has a fixed position among the results, regardless of other
  /// entries.
  func hasFixedPosition(for value: Span<UInt8>) -> Bool {
    isWhole && isByID && !descending && beginning(of: value).isEqual
  }

  /// Returns the length of the prefix that the values of a group share, and what follows it.
  ///
  /// The type is the next value's, if all values of that type belong to the group. `isEqual` is
  /// true if the values are the same.
  private func beginning(of bytes: Span<UInt8>) -> (size: Int, type: UInt8?, isEqual: Bool) {
    let end = bytes.count < IndexedValue.sizeLimit ? bytes.count : IndexedValue.cutSize
    var position = min(constantSize, end)
    let text = IndexedValue.type(of: .string(""))
    for byBytes in byBytes {
      guard position < end else { return (end, nil, false) }
      let type = bytes[position] & 0xF0
      if type > text || type == text && !byBytes { return (position, type, false) }
      position = CollationKey.end(ofValueAt: position, in: bytes) ?? .max
      // A value that is cut continues beyond the end.
      if position > end { return (end, nil, false) }
    }
    return (position, nil, true)
  }
}

/// A group of index entries whose order the index does not know, by the prefix of their values.
struct IndexGroup: Equatable {
  private let value: SharedBytes
  private let size: Int
  /// The type of the next value, if all values of that type belong to the group.
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

  /// The prefix that the values of all entries share.
  var beginning: [UInt8] { value.prefix(size).array + (type.map { [$0] } ?? []) }
}

extension CollationKey {
  /// Returns the end of a value's bytes, with texts in byte order.
  ///
  /// Returns nil if the value does not end, or is an array or an object.
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
