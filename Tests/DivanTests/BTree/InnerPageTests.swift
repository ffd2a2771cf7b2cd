import DivanLog
import DivanTesting
import Testing

@testable import Divan

/// Tests of rebuilding inner pages from the pages below them.
struct InnerPageTests {
  /// Returns a run whose pages with some numbers are damaged.
  private func open(_ packed: PackedRun, damaged: Set<UInt32>) throws -> Run {
    let layout = MappedPages.Layout(
      start: 0, stride: packed.pageSize, pageSize: packed.pageSize, count: packed.pageCount)
    let source = MappedPages(SharedBytes(copying: packed.bytes), layout) {
      (number, _) throws(PageError) in
      if damaged.contains(number) { throw .damaged(page: number, reason: "made for a test") }
    }
    return try Run(source, packed.summary)
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
        #expect(try run.rebuildInnerPage(UInt32(number)) == isInner, "seed \(seed)")
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

  @Test func `an inner page is not rebuilt if another page of the run is damaged`() throws {
    let entries = (0..<400).map { (key: Array("key-\($0 + 1000)".utf8), value: [UInt8](1...9)) }
    let packed = try PackedRun(entries, pageSize: 256)
    let inner = try (0..<packed.pageCount).filter { try level(of: $0, in: packed) > 0 }
    #expect(inner.count > 3)
    for number in inner {
      for other in 0..<packed.pageCount where other != number {
        let run = try open(packed, damaged: [UInt32(number), UInt32(other)])
        #expect(try !run.rebuildInnerPage(UInt32(number)))
        #expect(run.replacement(UInt32(number), 0) == nil)
      }
    }
  }

  @Test(arguments: KeyShape.allCases)
  func `an inner page and all pages below it are replaced by entries`(shape: KeyShape) throws {
    let seed = UInt64.random(in: 0...(.max))
    print("seed \(seed), \(shape)")
    var generator = SeededGenerator(seed: seed)
    var model = ModelMap()
    for _ in 0..<300 { model[shape.key(using: &generator)] = [1, 2, 3] }
    model = model.limited(to: BTree.entryLimit(pageSize: 128))
    let packed = try PackedRun(model.entries, pageSize: 128)
    for number in 0..<packed.pageCount {
      let level = try level(of: number, in: packed)
      guard level > 0 else { continue }
      let run = try open(packed, damaged: [UInt32(number)])
      let coverage = try #require(try run.coverage(ofPage: UInt32(number)))
      // Some entries are left out, to see that the new ones are read.
      let entries = model.entries.enumerated().filter {
        coverage.contains($0.element.key) && $0.offset % 3 != 0
      }.map(\.element)
      let isInstalled = run.install(
        entries, below: UInt32(number), level: level, compactionCount: 2)
      #expect(isInstalled, "seed \(seed)")
      for (index, entry) in model.entries.enumerated() {
        let isLeftOut = coverage.contains(entry.key) && index % 3 == 0
        let found = try run.find(entry.key.span, compactionCount: 2)?.array
        #expect(found == (isLeftOut ? nil : entry.value), "seed \(seed)")
      }
      // Versions that have seen fewer compactions do not read them.
      #expect(throws: PageError.self) {
        try run.keys(from: .unbounded, to: .unbounded, descending: false)
      }
    }
  }
}
