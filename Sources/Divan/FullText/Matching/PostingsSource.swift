/// The blocks of the postings of one term, in the order of their documents.
protocol PostingsSource: AnyObject {
  /// The number of documents with the term.
  var documentCount: Int { get }

  /// Returns the first block that has a document which is not before `target`; nil at the end.
  ///
  /// Targets ascend. The numbers in the block count from `first`.
  func block(notBefore target: UInt64) throws(DatabaseError) -> (bytes: [UInt8], first: UInt64)?

  /// Moves to the end, and returns the number of documents in the blocks after the last one
  /// returned.
  func countRest() -> Int
}

/// Postings in memory.
final class PostingsList: PostingsSource {
  let documentCount: Int
  private let blocks: [PostingsBuilder.Block]
  private var next = 0

  init(_ list: PostingsBuilder.List?) {
    blocks = list?.blocks ?? []
    documentCount = list?.documentCount ?? 0
  }

  func block(notBefore target: UInt64) -> (bytes: [UInt8], first: UInt64)? {
    while next < blocks.count {
      let block = blocks[next]
      if block.first + block.postings.header.last >= target {
        return (block.postings.bytes, block.first)
      }
      next += 1
    }
    return nil
  }

  func countRest() -> Int {
    let rest = blocks[min(next + 1, blocks.count)...]
    next = blocks.count
    return rest.reduce(0) { $0 + $1.postings.header.documentCount }
  }
}
