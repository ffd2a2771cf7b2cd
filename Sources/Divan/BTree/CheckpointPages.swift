import DivanLog
import Synchronization

/// A page cache for a checkpoint that is read without a memory map.
///
/// Each page is read when it is first used. When the budget is reached, all pages are dropped at
/// once, and are read again when needed. A page in use stays alive.
final class CheckpointPages: PageSource {
  private let file: CheckpointFile
  private let pages = Guarded<[UInt32: Page]>([:])
  /// The pages of filters, which are few and are never dropped.
  private let filterPages = Guarded<[UInt32: SharedBytes]>([:])

  /// The maximum number of cached pages.
  private let budget: Int

  /// Creates a cache, of 64 MiB unless specified otherwise.
  init(_ file: CheckpointFile, budget: Int = (64 << 20) / CheckpointHeader.pageFrameSize) {
    self.file = file
    self.budget = budget
  }

  func page(_ number: UInt32) throws(PageError) -> Page {
    if let page = pages.withLock({ $0[number] }) { return page }
    let page = try Page(CheckpointPages.load(number, from: file), number: number)
    pages.withLock {
      if $0.count >= budget { $0.removeAll(keepingCapacity: true) }
      $0[number] = page
    }
    return page
  }

  var pageSize: Int { file.pageSize }

  func filterBlock(page number: UInt32, offset: Int) throws(PageError) -> FilterBlock {
    let bytes: SharedBytes
    if let known = filterPages.withLock({ $0[number] }) {
      bytes = known
    } else {
      bytes = try CheckpointPages.load(number, from: file)
      filterPages.withLock { [bytes] in $0[number] = bytes }
    }
    guard offset >= 0, offset <= bytes.count - BloomFilter.blockSize else {
      throw .damaged(page: number, reason: "the filter has no such block")
    }
    return FilterBlock(bytes, at: offset)
  }

  /// Returns the bytes of a page, checked against its frame's checksums.
  private static func load(
    _ number: UInt32, from file: CheckpointFile
  ) throws(PageError) -> SharedBytes {
    do throws(LogError) {
      return try file.page(number)
    } catch .system(let error) {
      throw .unreadable(page: number, error)
    } catch {
      throw .damaged(page: number, reason: "\(error)")
    }
  }

  /// Returns the pages of a checkpoint, from a memory map if the file is mapped.
  static func source(of file: CheckpointFile) -> any PageSource {
    guard !file.mapped.isEmpty else { return CheckpointPages(file) }
    let layout = MappedPages.Layout(
      start: CheckpointHeader.offset(ofPage: 0) + FrameHeader.size,
      stride: CheckpointHeader.pageFrameSize, pageSize: CheckpointHeader.pageSize,
      count: Int(file.header.pageCount))
    return MappedPages(file.mapped, layout) { (number, _) throws(PageError) in
      _ = try load(number, from: file)
    }
  }
}
