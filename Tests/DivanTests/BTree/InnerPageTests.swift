import DivanLog
import DivanTesting
import Testing

@testable import Divan

/// Tests of rebuilding inner pages from the leaves.
struct InnerPageTests {
  /// Returns a run whose pages with some numbers are damaged.
  private func open(_ packed: PackedRun, damaged: Set<UInt32>) throws -> Run {
    let layout = MappedPages.Layout(
      start: 0, stride: packed.pageSize, pageSize: packed.pageSize, count: packed.pageCount)
    let source = MappedPages(SharedBytes(copying: packed.bytes), layout) {
      (number, _) throws(PageError) in
      if damaged.contains(number) { throw .damaged(page: number, reason: "made for a test") }
    }
    return try Run(source, packed.summary, firstPage: 0)
  }

  private func level(of number: Int, in packed: PackedRun) throws -> Int {
    let start = number * packed.pageSize
    let bytes = Array(packed.bytes[start..<start + packed.pageSize])
    let page = try Page(SharedBytes(copying: bytes), number: 0)
    return withExtendedLifetime(page) { page.view.level }
  }

  @Test(arguments: KeyShape.allCases, [128, 256])
  func `each inner page is rebuilt with the separators and children that it had`(
    shape: KeyShape, pageSize: Int
  ) throws {
    let seed = UInt64.random(in: 0...(.max))
    print("seed \(seed), \(shape), page \(pageSize)")
    var generator = SeededGenerator(seed: seed)
    var innerCount = 0
    for size in [2, 17, 300] {
      var model = ModelMap()
      for _ in 0..<size { model[shape.key(using: &generator)] = [1, 2, 3] }
      model = model.limited(to: BTree.entryLimit(pageSize: pageSize))
      let packed = try PackedRun(model.entries, pageSize: pageSize)
      for number in 0..<packed.pageCount {
        let run = try open(packed, damaged: [UInt32(number)])
        let isInner = try level(of: number, in: packed) > 0
        #expect(try run.rebuildInnerPages() == isInner, "seed \(seed)")
        guard isInner else { continue }
        innerCount += 1
        for entry in model.entries {
          #expect(try run.find(entry.key.span)?.array == entry.value, "seed \(seed)")
        }
        let rebuilt = try #require(run.replacement(UInt32(number), 0))
        let start = number * pageSize
        let expected = try Page(
          SharedBytes(copying: Array(packed.bytes[start..<start + pageSize])), number: 0)
        #expect(entries(rebuilt) == entries(expected), "seed \(seed)")
      }
    }
    // There are few tiny keys, and some keys are too long for small pages.
    #expect(innerCount > 0 || shape == .tiny || pageSize == 128)
  }

  private func entries(_ page: Page) -> [[UInt8]] {
    withExtendedLifetime(page) {
      (0..<page.view.count).map { page.view.key($0).array }
        + (0...page.view.count).map { UInt64(page.view.childNumber($0)).bigEndianBytes }
    }
  }

  @Test func `inner pages are rebuilt together, unless a leaf is damaged`() throws {
    let entries = (0..<400).map { (key: Array("key-\($0 + 1000)".utf8), value: [UInt8](1...9)) }
    let packed = try PackedRun(entries, pageSize: 256)
    let inner = try (0..<packed.pageCount).filter { try level(of: $0, in: packed) > 0 }
    #expect(inner.count > 3)
    for number in inner {
      for other in 0..<packed.pageCount where other != number {
        let run = try open(packed, damaged: [UInt32(number), UInt32(other)])
        let isRebuilt = inner.contains(other)
        #expect(try run.rebuildInnerPages() == isRebuilt)
        #expect((run.replacement(UInt32(number), 0) != nil) == isRebuilt)
        #expect((run.replacement(UInt32(other), 0) != nil) == isRebuilt)
      }
    }
    let run = try open(packed, damaged: Set(inner.map { UInt32($0) }))
    #expect(try run.rebuildInnerPages())
    for entry in entries { #expect(try run.find(entry.key.span)?.array == entry.value) }
  }

  @Test func `an inner page is not rebuilt from leaves of other runs`() throws {
    let entries = (0..<400).map { (key: Array("key-\($0 + 1000)".utf8), value: [UInt8](1...9)) }
    let packed = try PackedRun(entries, pageSize: 256)
    let inner = try (0..<packed.pageCount).filter { try level(of: $0, in: packed) > 0 }
    for number in inner {
      let source = try open(packed, damaged: [UInt32(number)]).source
      // A first page that is not the run's, and no first page at all.
      for firstPage in [1, 2, UInt32(packed.pageCount), nil] {
        let run = try Run(source, packed.summary, firstPage: firstPage)
        #expect(try !run.rebuildInnerPages())
      }
      var summary = packed.summary
      for (countChange, heightChange) in [(-1, 0), (1, 0), (0, 1)] {
        summary.count = packed.summary.count + countChange
        summary.height = packed.summary.height + heightChange
        #expect(try !Run(source, summary, firstPage: 0).rebuildInnerPages())
      }
    }
  }

  @Test func `an inner page is not rebuilt beside one that other leaves have`() throws {
    let entries = (0..<400).map { (key: Array("key-\($0 + 1000)".utf8), value: [UInt8](1...9)) }
    let packed = try PackedRun(entries, pageSize: 256)
    // The same pages, but one of the inner ones has separators of other keys.
    var moved = packed
    let inner = try (0..<packed.pageCount).filter { try level(of: $0, in: packed) > 0 }
    let size = packed.pageSize
    let start = inner[0] * size
    let other = try PackedRun(
      entries.map { (key: Array("kez-".utf8) + $0.key.dropFirst(4), value: $0.value) },
      pageSize: size)
    moved.bytes.replaceSubrange(start..<start + size, with: other.bytes[start..<start + size])
    let run = try open(moved, damaged: [UInt32(inner[1])])
    #expect(try !run.rebuildInnerPages())
    #expect(run.replacement(UInt32(inner[1]), 0) == nil)
  }
}
