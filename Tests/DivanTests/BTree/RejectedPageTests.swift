import DivanLog
import DivanTesting
import Testing

@testable import Divan

/// Tests of well-formed pages with invalid contents, and of the limits of the B-tree.
@Suite struct `Invalid pages` {
  private let pageSize = 256

  /// Returns a page whose entries are in the given order.
  private func page(
    level: Int = 0, _ entries: [(key: [UInt8], value: [UInt8])], size: Int = 256
  ) -> [UInt8] {
    let buffer = PageBuffer(size: size)
    buffer.clear(level: level)
    for (key, value) in entries {
      let fits = key.borrow { key in value.borrow { buffer.append(key, $0) } }
      #expect(fits)
    }
    return buffer.sharedCopy.array
  }

  private func problem(_ bytes: [UInt8], valueLength: Int? = nil) -> String? {
    unsafe bytes.withUnsafeBytes { unsafe NodePage.problem(in: $0, valueLength: valueLength) }
  }

  private func run(_ pages: [[UInt8]], root: UInt32, height: Int) throws -> Run {
    let layout = MappedPages.Layout(
      start: 0, stride: pageSize, pageSize: pageSize, count: pages.count)
    return try Run(
      MappedPages(SharedBytes(copying: Array(pages.joined())), layout),
      RunSummary(root: root, height: height, count: 1))
  }

  private func number(_ page: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: page >> UInt32(8 * $0)) }
  }

  /// Returns an inner page with a first child and separators.
  private func inner(
    _ level: Int, _ first: UInt32, _ rest: [(key: [UInt8], child: UInt32)]
  ) -> [UInt8] {
    var bytes = page(level: level, rest.map { ($0.key, number($0.child)) })
    bytes.replaceSubrange(12..<16, with: number(first))
    return bytes
  }

  @Test func `validating a page reports what is wrong with it`() {
    let sound = page([([1], [2])])
    #expect(problem(sound) == nil)
    #expect(problem(sound, valueLength: 8) == "value 0 has a wrong length")
    #expect(problem([UInt8](repeating: 0, count: 0x1_0000)) == "it is too long for a page")
    #expect(problem([1, 2, 3]) == "it is shorter than a page's header")
    // The last byte of the page announces a second byte of a length.
    var cut = sound
    cut[2] = UInt8(pageSize - 1)
    cut[3] = 0
    cut[20] = UInt8(pageSize - 1)
    cut[21] = 0
    cut[pageSize - 1] = 0x81
    #expect(problem(cut) == "entry 0 is outside the page")
  }

  @Test func `an entry longer than the page size allows is refused`() {
    let limit = BTree.entryLimit(pageSize: pageSize)
    for (length, isSound) in [(limit, true), (limit + 1, false)] {
      let bytes = page([([1], [UInt8](repeating: 7, count: length - 1))])
      #expect((Page.problem(in: SharedBytes(copying: bytes)) == nil) == isSound)
    }
  }

  @Test func `a page or filter block outside the file is damage`() throws {
    let bytes = SharedBytes(copying: [UInt8](repeating: 0, count: 400))
    let pages = MappedPages(
      bytes, MappedPages.Layout(start: 0, stride: 256, pageSize: 256, count: 9))
    for number in [1, 2, 8, 9, .max] as [UInt32] {
      #expect(throws: PageError.self) { _ = try pages.page(number) }
      #expect(throws: PageError.self) { _ = try pages.filterBlock(page: number, offset: 0) }
    }
    for offset in [-1, 193, .max] {
      #expect(throws: PageError.self) { _ = try pages.filterBlock(page: 0, offset: offset) }
    }
    #expect(try pages.filterBlock(page: 0, offset: 192) == FilterBlock())
  }

  @Test func `a missing or unreadable Bloom filter excludes no key`() throws {
    let leaf = page([([1], [2])])
    let layout = MappedPages.Layout(start: 0, stride: 256, pageSize: 256, count: 1)
    let pages = MappedPages(SharedBytes(copying: leaf), layout)
    let hash = [1 as UInt8].borrow { KeyHash($0) }
    #expect(try BloomFilter.none.mayContain(hash, in: pages, pageSize: 256))
    let lost = RunSummary(
      root: 0, height: 0, count: 1, filter: BloomFilter(firstPage: 77, blockCount: 4))
    #expect(try Run(pages, lost).mayContain(hash))
  }

  @Test func `a page with two parents is damage`() throws {
    let leaves = [page([([1], [1])]), page([([5], [1])])]
    let tree = leaves + [inner(1, 0, [([5], 1)]), inner(2, 2, [([9], 2)])]
    let forged = try run(tree, root: 3, height: 2)
    #expect(throws: PageError.damaged(page: 2, reason: "the page has two parents")) {
      try forged.checkInnerPages()
    }
    let sound = try run(leaves + [inner(1, 0, [([5], 1)]), inner(2, 2, [])], root: 3, height: 2)
    try sound.checkInnerPages()
  }

  @Test func `a scan of pages that lead to the same leaves ends`() throws {
    // Each level has the same child twice, so the number of ways doubles with each.
    var pages = [page([])]
    for level in 1...20 {
      pages.append(inner(level, UInt32(level - 1), [([5], UInt32(level - 1))]))
    }
    for descending in [false, true] {
      let forged = try run(pages, root: 20, height: 20)
      #expect(throws: PageError.self) {
        _ = try forged.keys(from: .unbounded, to: .unbounded, descending: descending)
      }
    }
  }

  @Test func `scans skip empty leaves`() throws {
    let leaves = [page([([1], [1])]), page([]), page([([9], [1])])]
    let sparse = try run(leaves + [inner(1, 0, [([5], 1), ([7], 2)])], root: 3, height: 1)
    for descending in [false, true] {
      let keys = try sparse.keys(from: .unbounded, to: .unbounded, descending: descending)
      #expect(keys == (descending ? [[9], [1]] : [[1], [9]]))
    }
  }

  @Test func `a run with an impossible height is refused`() throws {
    for height in [-1, Run.heightLimit + 1] {
      #expect(throws: PageError.self) { _ = try run([page([])], root: 0, height: height) }
    }
  }

  @Test func `an inspected run with an impossible root level is refused`() {
    let pages = SharedBytes(copying: page([([1], [2])]))
    func isRun(level: Int) -> Bool {
      let root = InspectedRun.Root(page: 0, level: level, filterPage: 0, filterBlocks: 0)
      return InspectedRun(pages: pages, pageSize: pageSize, root: root) != nil
    }
    #expect(isRun(level: 0))
    #expect(!isRun(level: -1))
    #expect(!isRun(level: Run.heightLimit + 1))
  }

  @Test func `entries that fit in no page cannot replace a damaged page`() throws {
    let any = try run([page([])], root: 0, height: 0)
    let long = [UInt8](repeating: 1, count: NodeEntry.lengthLimit + 1)
    #expect(!any.install([(key: [1], value: long)], for: 0))
    #expect(!any.install([(key: long, value: [1])], for: 0))
    let many = (0..<9000).map { number in
      (key: [UInt8(number >> 8), UInt8(number & 0xFF)], value: [1 as UInt8])
    }
    #expect(!any.install(many, for: 0))
    #expect(any.install(Array(many.prefix(3000)), for: 0))
  }

  @Test func `keys and values of any length within the limit are stored`() throws {
    var tree = BTree(pageSize: 4064)
    var model: [[UInt8]: [UInt8]] = [:]
    for length in [0, 1, 127, 128, 129, 255, 300, 600] {
      let key = [UInt8](repeating: UInt8(length & 0xFF), count: length)
      for other in [0, 5, 127, 128, 300] where length + other <= tree.entryLimit {
        let value = [UInt8](repeating: 9, count: other)
        tree.set(key.span, value.span)
        model[key] = value
        tree.checkInvariants()
      }
    }
    for (key, value) in model { #expect(tree.find(key.span)?.array == value) }
    let packed = try PackedRun(
      model.map { (key: $0.key, value: $0.value) }
        .sorted { $0.key.lexicographicallyPrecedes($1.key) }, pageSize: 4064)
    let run = try packed.open()
    for (key, value) in model { #expect(try run.find(key.span)?.array == value) }
    // Keys that begin with the greatest possible bytes.
    for last in 1...3 as ClosedRange<UInt8> {
      let key: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, last]
      tree.set(key.span, [last].span)
      tree.checkInvariants()
    }
    for last in 1...3 as ClosedRange<UInt8> {
      #expect(tree.find(([0xFF, 0xFF, 0xFF, 0xFF, last] as [UInt8]).span)?.array == [last])
    }
    #expect(tree.find(([0xFF, 0xFF, 0xFF, 0xFF, 4] as [UInt8]).span) == nil)
    // An empty span may have no address at all.
    #expect(tree.find(Span<UInt8>())?.array == model[[]])
  }

  @Test func `the end of a prefix that is empty or all 0xFF is unbounded`() {
    #expect(KeyBound.end(ofPrefix: []) == .unbounded)
    #expect(KeyBound.end(ofPrefix: [0xFF, 0xFF]) == .unbounded)
    #expect(KeyBound.end(ofPrefix: [1, 0xFF]) == .exclusive([2]))
  }

  @Test func `installing an empty checkpoint drops the tombstones of the memtable`() throws {
    let packed = try PackedRun([(key: [1], value: [1]), (key: [2], value: [1])], pageSize: 256)
    var tree = LayeredTree(runs: [try packed.open()], pageSize: 256)
    tree.remove([1 as UInt8].span)
    tree.freezeMemtable()
    tree.remove([2 as UInt8].span)
    tree.set([3 as UInt8].span, [1 as UInt8].span)
    #expect(tree.memtable.count == 2)
    // The checkpoint found nothing to write.
    tree.replaceImmutable(with: [])
    #expect(tree.memtable.count == 1)
    #expect(try tree.find([2 as UInt8].span) == nil)
    #expect(try tree.find([3 as UInt8].span)?.array == [1])
  }

  @Test func `emptying a node's last child removes the node`() {
    // Large entries next to small ones leave inner nodes with one child, whose neighbours are full.
    for seed in 0..<UInt64(120) {
      var random = SeededGenerator(seed: seed)
      var tree = BTree(pageSize: 128)
      var keys: [[UInt8]] = []
      for _ in 0..<400 {
        let key = (0..<Int.random(in: 1...9, using: &random)).map { _ in
          UInt8.random(in: 0...255, using: &random)
        }
        tree.set(key.span, [1 as UInt8].span)
        keys.append(key)
      }
      // Keys are removed in runs, so that leaves are emptied one by one while others stay full.
      keys.sort { $0.lexicographicallyPrecedes($1) }
      while !keys.isEmpty {
        let start = Int.random(in: 0..<keys.count, using: &random)
        let count = min(keys.count - start, Int.random(in: 1...30, using: &random))
        for key in keys[start..<start + count] { tree.remove(key.span) }
        keys.removeSubrange(start..<start + count)
        tree.checkInvariants()
      }
      #expect(tree.isEmpty)
    }
  }
}
