/// Repairs the fields of an index page that describe its entries.
package enum PageRepair {
  /// Repairs the page in `range`, if its slots point at entries.
  package static func repair(_ bytes: inout [UInt8], _ range: Range<Int>) {
    guard range.count >= 16 else { return }
    let start = range.lowerBound
    let count = Int(bytes.load(UInt16.self, at: start))
    guard 16 + 6 * count <= range.count else { return }
    let prefix = Int(bytes.load(UInt16.self, at: start + 6))
    var lowest = range.count
    var used = 0
    for index in 0..<count {
      let slot = Int(bytes.load(UInt16.self, at: start + 16 + 4 * count + 2 * index))
      guard let entry = entry(bytes, range, slot) else { return }
      lowest = min(lowest, slot)
      used += entry.size
      var head: UInt32 = 0
      for position in 0..<4 {
        let offset = entry.key.lowerBound + prefix + position
        head = head << 8 | (offset < entry.key.upperBound ? UInt32(bytes[offset]) : 0)
      }
      bytes.store(head, at: start + 16 + 4 * index)
    }
    guard lowest >= 16 + 6 * count else { return }
    bytes.store(UInt16(lowest), at: start + 2)
    bytes.store(UInt16(truncatingIfNeeded: range.count - lowest - used), at: start + 4)
  }

  private static func entry(
    _ bytes: [UInt8], _ range: Range<Int>, _ slot: Int
  ) -> (key: Range<Int>, size: Int)? {
    var position = range.lowerBound + slot
    func length() -> Int? {
      guard position < range.upperBound else { return nil }
      let first = Int(bytes[position])
      position += 1
      guard first >= 0x80 else { return first }
      guard position < range.upperBound else { return nil }
      position += 1
      return (first & 0x7F) << 8 | Int(bytes[position - 1])
    }
    guard let keySize = length(), let valueSize = length(),
      position + keySize + valueSize <= range.upperBound
    else { return nil }
    return (
      position..<position + keySize,
      position + keySize + valueSize - range.lowerBound - slot
    )
  }
}
