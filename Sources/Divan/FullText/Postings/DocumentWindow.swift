/// A bit for each of 4,096 documents with neighbouring numbers.
///
/// To count the documents of long lists, their bits are joined and intersected, which takes less
/// time than to move from one document to the next in all of them.
struct DocumentWindow {
  /// The number of documents in a window.
  static let size: UInt64 = 4096

  /// The number of the first document.
  let start: UInt64
  private var words = [UInt64](repeating: 0, count: Int(size / 64))

  /// Creates an empty window that has the bit of a document, which is not the end.
  init(around document: UInt64) { start = document & ~(DocumentWindow.size - 1) }

  /// All documents in the window have numbers below this one.
  var end: UInt64 {
    start > DocumentNumber.end - DocumentWindow.size
      ? DocumentNumber.end : start + DocumentWindow.size
  }

  /// Whether two lists are so similar in length that their bits are compared, rather than most
  /// documents of the long one skipped.
  static func isWorthwhile(_ short: Int, _ long: Int) -> Bool { long / 16 <= short }

  /// The number of documents whose bits are set.
  var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

  /// Sets the bit of a document in the window.
  mutating func insert(_ document: UInt64) {
    let index = document &- start
    words[Int(index / 64)] |= 1 << (index % 64)
  }

  /// Keeps the bits that are set in another window of the same documents, too.
  mutating func formIntersection(_ other: DocumentWindow) {
    for index in words.indices { words[index] &= other.words[index] }
  }

  /// Sets the bits that are set in another window of the same documents.
  mutating func formUnion(_ other: DocumentWindow) {
    for index in words.indices { words[index] |= other.words[index] }
  }

  /// Clears the bits that are set in another window of the same documents.
  mutating func subtract(_ other: DocumentWindow) {
    for index in words.indices { words[index] &= ~other.words[index] }
  }
}
