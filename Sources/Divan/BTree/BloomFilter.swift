import DivanLog

/// A blocked Bloom filter, which rules out keys that a run does not contain, without a search.
///
/// A key sets one bit in each of the eight words of one block, which is one cache line. A look-up
/// therefore costs one cache miss, where a search costs several. With the usual ten bits per key,
/// the filter passes about one in a hundred keys that do not exist. (Putze, Sanders and Singler:
/// "Cache-, Hash- and Space-Efficient Bloom Filters", 2007; the words are as in Parquet's split
/// blocks, but twice as wide.)
///
/// A filter's blocks are stored in pages of a checkpoint, after the pages of its run.
/// FILE_FORMAT.md §11
struct BloomFilter: Equatable, Sendable {
  /// The page of the first block.
  var firstPage: UInt32
  /// The number of blocks; 0 if the run has no filter.
  var blockCount: UInt32

  /// No filter: any key may exist.
  static let none = BloomFilter(firstPage: 0, blockCount: 0)

  /// The size of a block in bytes.
  static let blockSize = 64
  private static let bitsPerKey = 10

  /// Returns the number of blocks of a filter for `count` keys.
  static func blockCount(forKeys count: Int) -> UInt32 {
    UInt32(clamping: (count * bitsPerKey + blockSize * 8 - 1) / (blockSize * 8))
  }

  /// Returns the number of whole blocks in a page.
  static func blocksPerPage(pageSize: Int) -> Int { pageSize / blockSize }

  /// Returns the number of pages that the filter takes.
  func pageCount(pageSize: Int) -> Int {
    let perPage = BloomFilter.blocksPerPage(pageSize: pageSize)
    return (Int(blockCount) + perPage - 1) / perPage
  }
}

/// The eight words of a block.
typealias FilterBlock = SIMD8<UInt64>

/// A key's hash, which determines its block and its bit in each word.
struct KeyHash: Sendable {
  private let bits: UInt64

  /// Hashes bytes, eight at a time, by multiplying and folding.
  ///
  /// The result is the same on every machine.
  init(_ key: BorrowedBytes) {
    var hash = UInt64(key.count) &* 0x9E37_79B9_7F4A_7C15
    for position in stride(from: 0, to: key.count, by: 8) {
      hash = KeyHash.mix(hash ^ key.littleEndianWord(at: position))
    }
    bits = KeyHash.mix(hash)
  }

  private static func mix(_ word: UInt64) -> UInt64 {
    let product = (word ^ 0xA076_1D64_78BD_642F).multipliedFullWidth(by: 0xE703_7ED1_A0B4_28DB)
    return product.high ^ product.low
  }

  /// Returns the index of the key's block among `count` blocks.
  func block(of count: UInt32) -> Int {
    Int(((bits >> 32) * UInt64(count)) >> 32)
  }

  /// One bit in each word, given by the upper six bits of the product with that word's odd number.
  var mask: FilterBlock {
    let spread = SIMD8<UInt32>(repeating: UInt32(truncatingIfNeeded: bits)) &* KeyHash.salts
    return FilterBlock(repeating: 1) &<< FilterBlock(truncatingIfNeeded: spread &>> 26)
  }

  private static let salts = SIMD8<UInt32>(
    0x47B6_137B, 0x4497_4D91, 0x8824_AD5B, 0xA2B7_289D, 0x7054_95C7, 0x2DF1_424B, 0x9EFC_4947,
    0x5C6B_FB31)
}

/// Builds a filter.
struct BloomFilterWriter {
  private var blocks: [FilterBlock]

  /// Creates a filter for at most `capacity` keys.
  init(capacity: Int) {
    blocks = [FilterBlock](
      repeating: FilterBlock(), count: Int(BloomFilter.blockCount(forKeys: capacity)))
  }
}

extension BloomFilterWriter {
  mutating func insert(_ key: BorrowedBytes) {
    guard !blocks.isEmpty else { return }
    let hash = KeyHash(key)
    blocks[hash.block(of: UInt32(blocks.count))] |= hash.mask
  }

  /// Writes the blocks as pages, and returns the filter.
  func finish(
    pageSize: Int, sink: (Span<UInt8>) throws(LogError) -> UInt32
  ) throws(LogError) -> BloomFilter {
    guard !blocks.isEmpty else { return .none }
    let perPage = BloomFilter.blocksPerPage(pageSize: pageSize)
    var numbers: [UInt32] = []
    var page = ByteWriter(capacity: pageSize)
    for start in stride(from: 0, to: blocks.count, by: perPage) {
      page.removeAll()
      for block in blocks[start..<min(start + perPage, blocks.count)] {
        for word in block.indices { page.append(block[word]) }
      }
      page.appendZeros(pageSize - page.count)
      numbers.append(
        try page.withSpan { (bytes: Span<UInt8>) throws(LogError) -> UInt32 in try sink(bytes) })
    }
    return BloomFilter(firstPage: numbers[0], blockCount: UInt32(blocks.count))
  }
}

extension BloomFilter {
  /// Whether a key may be in the run that the filter belongs to.
  @inline(__always)
  func mayContain(_ hash: KeyHash, in source: any PageSource, pageSize: Int) throws(PageError)
    -> Bool
  {
    guard blockCount > 0 else { return true }
    let index = hash.block(of: blockCount)
    let perPage = BloomFilter.blocksPerPage(pageSize: pageSize)
    let block = try source.filterBlock(
      page: firstPage &+ UInt32(index / perPage), offset: index % perPage * BloomFilter.blockSize)
    let mask = hash.mask
    return block & mask == mask
  }
}
