/// Numbers for terms, in the order in which they come.
///
/// It is a hash table with the terms in one array of bytes, so that a term costs some bytes and no
/// allocation of its own.
struct TermTable: Sendable {
  private var bytes: [UInt8] = []
  private var ends: [Int] = []
  /// The number of a term plus one in each slot, or zero; at most half of the slots are taken.
  private var slots: [UInt32]
  /// The high half of each term's hash, to compare before the bytes.
  private var hashes: [UInt32] = []
  /// Differs from table to table, so that it is hard to write a text whose terms collide.
  private let seed: UInt64

  /// Creates an empty table with a number of slots, which is a power of two.
  init(slotCount: Int = 1024) {
    slots = Array(repeating: 0, count: slotCount)
    seed = UInt64.random(in: .min ... .max)
  }

  /// The number of terms.
  var count: Int { ends.count }
  /// The memory of the table, in bytes.
  var byteCount: Int { bytes.count + 8 * ends.count + 4 * slots.count + 4 * hashes.count }

  private func start(_ number: Int) -> Int { number == 0 ? 0 : ends[number - 1] }

  /// The bytes of a term.
  subscript(number: Int) -> ArraySlice<UInt8> { bytes[start(number)..<ends[number]] }

  /// Returns the number of a term, which it gets when it comes for the first time.
  mutating func number(of term: [UInt8]) -> Int {
    let hash = hash(of: term)
    let mark = UInt32(truncatingIfNeeded: hash >> 32)
    var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
    while slots[slot] != 0 {
      let number = Int(slots[slot]) - 1
      if hashes[number] == mark, isEqual(number, term) { return number }
      slot = (slot + 1) & (slots.count - 1)
    }
    bytes.append(contentsOf: term)
    ends.append(bytes.count)
    hashes.append(mark)
    slots[slot] = UInt32(ends.count)
    if ends.count > slots.count / 2 { grow() }
    return ends.count - 1
  }

  private func isEqual(_ number: Int, _ term: [UInt8]) -> Bool {
    let start = start(number)
    guard ends[number] - start == term.count else { return false }
    for index in term.indices where bytes[start + index] != term[index] { return false }
    return true
  }

  private func hash(of term: some Collection<UInt8>) -> UInt64 {
    var hash = seed
    for byte in term { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    hash = (hash ^ hash >> 29) &* 0xBF58_476D_1CE4_E5B9
    return hash ^ hash >> 32
  }

  private mutating func grow() {
    let mask = slots.count * 2 - 1
    slots = Array(repeating: 0, count: mask + 1)
    for number in ends.indices {
      var slot = Int(truncatingIfNeeded: hash(of: self[number])) & mask
      while slots[slot] != 0 { slot = (slot + 1) & mask }
      slots[slot] = UInt32(number + 1)
    }
  }

  /// The numbers of all terms, in the order of the terms' bytes.
  func sorted() -> [Int] {
    (0..<count).map { (key(of: $0), $0) }.sorted {
      $0.0 != $1.0 ? $0.0 < $1.0 : self[$0.1].lexicographicallyPrecedes(self[$1.1])
    }.map(\.1)
  }

  /// The first eight bytes of a term as a number.
  private func key(of number: Int) -> UInt64 {
    let term = self[number]
    return term.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } << UInt64(8 * (8 - min(8, term.count)))
  }
}
