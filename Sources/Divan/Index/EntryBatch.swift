internal import DivanLog

/// Entries on their way into a tree: their bytes one behind the other in one piece of memory, and where each stands.
///
/// No reference is counted when they are sorted, and hardly any key is looked at: only the places are moved, which have
/// the first bytes of their keys beside them (`EntryBatch+Sorting.swift`).
struct EntryBatch: ~Copyable {
  /// Where the bytes of an entry stand, and what else is known of it.
  struct Place {
    /// The sixteen bytes of the key behind those that all keys share, as numbers that are ordered as they are; zeros stand
    /// for what the key lacks.
    let head: (first: UInt64, second: UInt64)
    fileprivate let start: Int
    let keySize: UInt16
    /// How many of the key's first bytes no other key may have; 0 if it makes no difference.
    let uniqueSize: UInt8
    fileprivate let valueSize: UInt8
    /// The number of what the entry was made of.
    let source: UInt32

    var key: Range<Int> { start..<start + Int(keySize) }
    fileprivate var value: Range<Int> { key.upperBound..<key.upperBound + Int(valueSize) }
  }

  private var bytes = ByteWriter()
  private(set) var places: [Place] = []
  /// How many first bytes all keys share.
  private let sharedSize: Int
  /// The greatest sum of the sizes of a key and its value.
  private(set) var longestSize = 0

  /// Begins with no entries.
  ///
  /// - Parameter sharedSize: how many first bytes all keys will share, at least.
  init(sharedSize: Int = 0) { self.sharedSize = sharedSize }
}

extension EntryBatch {
  var count: Int { places.count }

  /// The memory that the entries take.
  var size: Int { bytes.count + places.count * MemoryLayout<Place>.stride }

  /// How many bytes an entry takes here with its place, as a guess: the key of a short text and an ID.
  static let guessedEntrySize = MemoryLayout<Place>.stride + guessedKeySize
  private static let guessedKeySize = 48

  /// Makes room for about so many entries, so that they are not copied while there come more.
  mutating func reserveRoom(_ count: Int) {
    places.reserveCapacity(places.count + count)
    bytes.reserve(count * EntryBatch.guessedKeySize)
  }

  /// Forgets all entries, and keeps the room.
  mutating func removeAll() {
    bytes.removeAll()
    places.removeAll(keepingCapacity: true)
    longestSize = 0
  }

  /// Adds an entry.
  ///
  /// - Parameters:
  ///   - value: its value, one byte.
  ///   - source: the number of what it was made of.
  ///   - writeKey: appends the key, and returns how many of its first bytes no other key may have, or 0.
  mutating func append(
    value: UInt8, source: UInt32 = 0, writeKey: (inout ByteWriter) -> Int
  ) {
    let start = bytes.count
    let uniqueSize = writeKey(&bytes)
    let end = bytes.count
    precondition(end - start <= NodeEntry.lengthLimit, "A key too long for any index")
    bytes.append(value)
    let own = min(start + sharedSize, end)
    let head = bytes.withSpan { bytes in
      (EntryBatch.word(bytes, own, end), EntryBatch.word(bytes, min(own + 8, end), end))
    }
    places.append(
      Place(
        head: head, start: start, keySize: UInt16(end - start), uniqueSize: UInt8(uniqueSize),
        valueSize: 1, source: source))
    longestSize = max(longestSize, end + 1 - start)
  }

  /// Adds an entry of another batch, whose keys share the same first bytes.
  mutating func append(_ index: Int, of other: borrowing EntryBatch, source: UInt32) {
    let place = other.places[index]
    let start = bytes.count
    other.bytes.withSpan { bytes.append($0.extracting(place.start..<place.value.upperBound)) }
    places.append(
      Place(
        head: place.head, start: start, keySize: place.keySize, uniqueSize: place.uniqueSize,
        valueSize: place.valueSize, source: source))
    longestSize = max(longestSize, bytes.count - start)
  }

  /// The eight bytes from `start` on as a number that is ordered as they are.
  private static func word(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> UInt64 {
    if end - start >= 8 { return bytes.word(at: start).byteSwapped }
    var word: UInt64 = 0
    for offset in 0..<8 {
      word <<= 8
      if start + offset < end { word |= UInt64(bytes[start + offset]) }
    }
    return word
  }
}

extension EntryBatch {
  /// Brings the entries into the order of their keys; of those with the same key one stays.
  mutating func sort() {
    let sharedSize = self.sharedSize
    // Apart from the bytes, so that these can be looked at meanwhile.
    var sorted: [Place] = []
    swap(&sorted, &places)
    bytes.withSpan { bytes in
      sorted.sortByKeys { a, b in
        compare(
          bytes.extracting(a.key).extracting(droppingFirst: sharedSize),
          bytes.extracting(b.key).extracting(droppingFirst: sharedSize))
      }
    }
    swap(&sorted, &places)
  }

  /// How the key of an entry stands to that of an entry of another batch, whose keys share the same first bytes: less than
  /// zero if it comes before it.
  func order(of index: Int, against otherIndex: Int, of other: borrowing EntryBatch) -> Int {
    let (a, b) = (places[index], other.places[otherIndex])
    if a.head.first != b.head.first { return a.head.first < b.head.first ? -1 : 1 }
    if a.head.second != b.head.second { return a.head.second < b.head.second ? -1 : 1 }
    return bytes.withSpan { bytes in
      other.bytes.withSpan { otherBytes in
        compare(
          bytes.extracting(a.key).extracting(droppingFirst: sharedSize),
          otherBytes.extracting(b.key).extracting(droppingFirst: sharedSize))
      }
    }
  }

  /// Keeps those entries that are wanted, as is asked with the place, key and value of each.
  mutating func keep(
    where isWanted: (Place, Span<UInt8>, UInt8) throws(DatabaseError) -> Bool
  ) throws(DatabaseError) {
    var count = 0
    for place in places {
      let isKept = try bytes.withSpan { (bytes) throws(DatabaseError) in
        try isWanted(place, bytes.extracting(place.key), bytes[place.value.lowerBound])
      }
      guard isKept else { continue }
      places[count] = place
      count += 1
    }
    places.removeLast(places.count - count)
  }

  /// Brings in the bytes of entries that will be looked at soon, all of them at the same time: in the order of keys they lie
  /// scattered, and one after the other would be waited for.
  func touch(_ range: Range<Int>) {
    bytes.withSpan { bytes in
      var touched: UInt8 = 0
      for index in range {
        let place = places[index]
        touched ^= bytes[place.start] ^ bytes[place.value.lowerBound]
      }
      SharedBytes.keep(touched)
    }
  }

  /// Lends the key and the value of the entry at `index`.
  @inline(__always)
  func withEntry<R>(_ index: Int, _ body: (LentBytes, LentBytes) -> R) -> R {
    let place = places[index]
    return bytes.withSpan { bytes in
      LentBytes.lend(bytes.extracting(place.key)) { key in
        LentBytes.lend(bytes.extracting(place.value)) { value in body(key, value) }
      }
    }
  }

  /// How many bytes an entry takes of a page, with its head and slot.
  func entrySize(_ index: Int) -> Int {
    Node.entrySize(Int(places[index].keySize), Int(places[index].valueSize))
  }

  /// The index of the first entry of a range whose key is not less than `key`; the range's end if there is none.
  ///
  /// The entries must be sorted.
  func firstIndex(notBelow key: LentBytes, in range: Range<Int>) -> Int {
    var low = range.lowerBound
    var high = range.upperBound
    while low < high {
      let middle = (low + high) / 2
      if withEntry(middle, { own, _ in own.compare(key) < 0 }) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }
}
