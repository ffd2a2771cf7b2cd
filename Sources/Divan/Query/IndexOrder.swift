import DivanLog

/// How far the order of an index is that of the results.
///
/// An object, since plans and runs hand it on.
final class IndexOrder: Sendable {
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
