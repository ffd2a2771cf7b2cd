import DivanLog

/// A value that may be larger than an entry of a tree, in parts.
///
/// The first part begins with the number of further parts, as a varint. These have the same key
/// with four more bytes: their numbers, counted from 1, big-endian.
enum TextValue {
  /// The size of a part's number in its key, in bytes.
  static let partNumberSize = 4

  /// The size of an entry that a page has room for, also in an encrypted store, in bytes.
  private static let pageLimit = BTree.entryLimit(
    pageSize: CheckpointHeader.pageSize - FileEncryption.overhead)

  /// Returns the entries of a value in a tree that takes entries up to a size.
  static func entries(
    _ key: [UInt8], _ value: [UInt8], treeLimit: Int
  ) -> [(key: [UInt8], value: [UInt8])] {
    let size = min(treeLimit, pageLimit) - key.count - partNumberSize
    precondition(size > 5, "an entry of \(treeLimit) bytes has no room for a part of a text")
    // The count takes five bytes at most.
    guard value.count > size - 5 else { return [(key, [0] + value)] }
    let firstSize = size - 5
    let count = (value.count - firstSize + size - 1) / size
    var first: [UInt8] = []
    first.append(varint: UInt64(count))
    var entries = [(key, first + value[..<firstSize])]
    for number in 1...count {
      let start = firstSize + (number - 1) * size
      entries.append(
        (partKey(key, number), Array(value[start..<min(start + size, value.count)])))
    }
    return entries
  }

  static func partKey(_ key: [UInt8], _ number: Int) -> [UInt8] {
    key + UInt64(number).bigEndianBytes.suffix(partNumberSize)
  }
}
