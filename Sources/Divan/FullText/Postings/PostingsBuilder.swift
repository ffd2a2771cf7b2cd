/// Collects the terms of many documents, and writes the postings of all of them.
///
/// ```swift
/// var builder = PostingsBuilder(fieldCount: 2)
/// while cursor.next() {
///   builder.append(cursor.term, document: 7, Occurrence(field: 0, position: cursor.position))
/// }
/// let lists = builder.finish()
/// ```
///
/// It keeps 16 bytes in memory for each word, and the terms. ``byteCount`` says when it is time to
/// write what there is.
struct PostingsBuilder: Sendable {
  /// A term with its postings.
  struct List {
    let term: [UInt8]
    let blocks: [Block]
    var documentCount: Int { blocks.reduce(0) { $0 + $1.postings.header.documentCount } }
  }

  /// A block and the number that its numbers count from.
  struct Block {
    let first: UInt64
    var postings: PostingsBlock
  }

  private let fieldCount: Int
  private var terms = TermTable()
  private var counts: [Int32] = []
  private var numbers: [UInt32] = []
  /// The index of each word's document in ``documents``.
  private var documentIndexes: [UInt32] = []
  private var occurrences: [Occurrence] = []
  private var documents: [UInt64] = []

  init(fieldCount: Int) { self.fieldCount = fieldCount }

  /// The memory in use, in bytes.
  var byteCount: Int {
    terms.byteCount + 4 * counts.count + 16 * numbers.count + 8 * documents.count
  }
  /// The number of different terms.
  var termCount: Int { terms.count }
  /// The number of words.
  var wordCount: Int { numbers.count }

  /// Appends a word.
  ///
  /// Documents come in ascending order, and the words of each in the order of their places.
  mutating func append(_ term: [UInt8], document: UInt64, _ occurrence: Occurrence) {
    if documents.last != document {
      precondition(documents.last.map { $0 < document } ?? true, "the documents do not ascend")
      documents.append(document)
    }
    let number = terms.number(of: term)
    if number == counts.count { counts.append(0) }
    counts[number] += 1
    numbers.append(UInt32(number))
    documentIndexes.append(UInt32(documents.count - 1))
    occurrences.append(occurrence)
  }

  /// Returns the terms in the order of their bytes, each with its postings; the builder is empty
  /// again.
  mutating func finish() -> [List] {
    let order = wordsByTerm()
    var starts: [Int] = [0]
    for count in counts { starts.append(starts[starts.count - 1] + Int(count)) }
    var own: [Occurrence] = []
    var lists: [List] = []
    lists.reserveCapacity(terms.count)
    for number in terms.sorted() {
      var index = starts[number]
      let end = starts[number + 1]
      var blocks: [Block] = []
      while index < end {
        let document = documentIndexes[Int(order[index])]
        own.removeAll(keepingCapacity: true)
        while index < end, documentIndexes[Int(order[index])] == document {
          own.append(occurrences[Int(order[index])])
          index += 1
        }
        append(documents[Int(document)], own, to: &blocks)
      }
      lists.append(List(term: Array(terms[number]), blocks: blocks))
    }
    self = PostingsBuilder(fieldCount: fieldCount)
    return lists
  }

  private func append(_ document: UInt64, _ occurrences: [Occurrence], to blocks: inout [Block]) {
    if blocks.last?.postings.isFull ?? true {
      blocks.append(Block(first: document, postings: PostingsBlock(fieldCount: fieldCount)))
    }
    let last = blocks.count - 1
    blocks[last].postings.append(document - blocks[last].first, occurrences)
  }

  /// The indexes of all words, those of one term together, by counting.
  private func wordsByTerm() -> [UInt32] {
    var next: [Int] = []
    var total = 0
    for count in counts {
      next.append(total)
      total += Int(count)
    }
    var order = [UInt32](repeating: 0, count: numbers.count)
    for (index, number) in numbers.enumerated() {
      order[next[Int(number)]] = UInt32(index)
      next[Int(number)] += 1
    }
    return order
  }
}
