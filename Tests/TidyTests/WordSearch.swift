/// A search for several words at once in one pass over the bytes of a text, which may be long.
struct WordSearch {
  private let words: [(word: String, bytes: [UInt8])]
  /// The words, by index, that begin with two bytes.
  private var starts: [UInt16: [Int]] = [:]
  /// Whether a word begins with two bytes: a faster answer than that of ``starts``.
  private var isStart = [Bool](repeating: false, count: 1 << 16)

  /// - Parameter words: ASCII texts of at least two letters, found in upper and lower case.
  init(_ words: some Sequence<String>) {
    self.words = words.map { ($0, $0.utf8.map(WordSearch.lowercased)) }
    for (index, (_, bytes)) in self.words.enumerated() {
      let start = UInt16(bytes[0]) << 8 | UInt16(bytes[1])
      starts[start, default: []].append(index)
      isStart[Int(start)] = true
    }
  }

  /// Returns the words that occur in a text, also as a part of longer words.
  func words(in text: String) -> Set<String> {
    var found: Set<String> = []
    let bytes = text.utf8.map(WordSearch.lowercased)
    var start: UInt16 = 0
    for (end, byte) in bytes.enumerated() {
      start = start << 8 | UInt16(byte)
      guard isStart[Int(start)], end > 0 else { continue }
      for (word, wanted) in (starts[start] ?? []).map({ words[$0] })
      where bytes[(end - 1)...].starts(with: wanted) {
        found.insert(word)
      }
    }
    return found
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 32 : byte
  }
}
