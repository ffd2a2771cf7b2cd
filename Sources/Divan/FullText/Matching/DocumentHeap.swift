/// Numbered lists by their current documents, the smallest first, and then by the list's number.
struct DocumentHeap {
  private var entries: [(document: UInt64, index: Int)] = []

  /// The entry that comes first.
  var first: (document: UInt64, index: Int)? { entries.first }

  private func precedes(_ left: Int, _ right: Int) -> Bool {
    let (one, other) = (entries[left], entries[right])
    return one.document == other.document
      ? one.index < other.index : one.document < other.document
  }

  mutating func insert(_ document: UInt64, _ index: Int) {
    entries.append((document, index))
    var child = entries.count - 1
    while child > 0, precedes(child, (child - 1) / 2) {
      entries.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  /// The numbers of the lists whose current document is the first one.
  ///
  /// They are at the top of the heap, so others are not looked at, except for the next ones below.
  func indexes(with document: UInt64) -> [Int] {
    var found: [Int] = []
    var open = entries.isEmpty ? [] : [0]
    while let place = open.popLast() {
      guard entries[place].document == document else { continue }
      found.append(entries[place].index)
      for child in [2 * place + 1, 2 * place + 2] where child < entries.count { open.append(child) }
    }
    return found
  }

  /// Gives the list that comes first another document, which is not smaller.
  mutating func replaceFirst(by document: UInt64) {
    entries[0].document = document
    var parent = 0
    while true {
      var least = 2 * parent + 1
      guard least < entries.count else { return }
      if least + 1 < entries.count, precedes(least + 1, least) { least += 1 }
      guard precedes(least, parent) else { return }
      entries.swapAt(least, parent)
      parent = least
    }
  }
}
