import DivanLog
import DivanTesting
import Testing

@testable import Divan

/// The pages of a run, one after the other as in a file.
struct PackedRun {
  var bytes: [UInt8] = []
  var summary: RunSummary
  let pageSize: Int

  init(_ entries: [(key: [UInt8], value: [UInt8])], pageSize: Int) throws {
    let pages = PageCollector()
    var writer = RunWriter(pageSize: pageSize) { pages.add($0) }
    for entry in entries { try writer.append(entry.key.span, entry.value.span) }
    summary = try writer.finish()
    bytes = pages.bytes
    self.pageSize = pageSize
  }

  init(_ scan: LayeredScan, pageSize: Int) throws {
    var scan = scan
    let pages = PageCollector()
    var writer = RunWriter(pageSize: pageSize) { pages.add($0) }
    while let entry = try scan.next() { try writer.append(entry) }
    summary = try writer.finish()
    bytes = pages.bytes
    self.pageSize = pageSize
  }

  var pageCount: Int { bytes.count / pageSize }

  func open() throws -> Run {
    let layout = MappedPages.Layout(
      start: 0, stride: pageSize, pageSize: pageSize, count: pageCount)
    return try Run(MappedPages(SharedBytes(copying: bytes), layout), summary, firstPage: 0)
  }
}

private final class PageCollector {
  private(set) var bytes: [UInt8] = []
  private var count: UInt32 = 0

  func add(_ page: Span<UInt8>) -> UInt32 {
    for index in page.indices { bytes.append(page[index]) }
    count += 1
    return count - 1
  }
}

extension Run {
  func keys(from lower: KeyBound, to upper: KeyBound, descending: Bool) throws -> [[UInt8]] {
    var keys: [[UInt8]] = []
    var scan = self.scan(from: lower, to: upper, descending: descending)
    while let entry = try scan.next() { keys.append(entry.key.array) }
    return keys
  }
}

@Suite struct `Sorted runs` {
  @Test(arguments: KeyShape.allCases, [128, 256, 4064])
  func `a run returns its entries in both directions and within any bounds`(
    shape: KeyShape, pageSize: Int
  ) throws {
    let seed = UInt64.random(in: 0...(.max))
    print("seed \(seed), \(shape), page \(pageSize)")
    var generator = SeededGenerator(seed: seed)
    for size in [0, 1, 2, 17, 1000] {
      var model = ModelMap()
      let valueLimit = min(BTree.entryLimit(pageSize: pageSize) - 20, 40)
      for _ in 0..<size where valueLimit > 0 || shape == .tiny {
        model[shape.key(using: &generator)] = KeyShape.value(
          using: &generator, limit: max(valueLimit, 4))
      }
      model = model.limited(to: BTree.entryLimit(pageSize: pageSize))
      let run = try PackedRun(model.entries, pageSize: pageSize).open()
      #expect(run.count == model.entries.count)
      for entry in model.entries { #expect(try run.find(entry.key.span)?.array == entry.value) }
      for _ in 0..<200 {
        let probe = shape.key(using: &generator)
        #expect(try run.find(probe.span)?.array == model[probe])
      }
      for step in 0..<30 {
        let lower = step == 0 ? .unbounded : shape.bound(using: &generator)
        let upper = step == 0 ? .unbounded : shape.bound(using: &generator)
        for descending in [false, true] {
          #expect(
            try run.keys(from: lower, to: upper, descending: descending)
              == model.scan(from: lower, to: upper, descending: descending))
        }
      }
    }
  }

  @Test func `a run's pages are full and numbered in the order of writing`() throws {
    let entries = (0..<1000).map { number in
      (key: Array("document-\(100_000 + number)".utf8), value: [UInt8](repeating: 1, count: 30))
    }
    let packed = try PackedRun(entries, pageSize: 4064)
    // 15 + 30 bytes, two lengths, a head and a slot.
    #expect(packed.pageCount == 1 + (1000 + 75) / ((4064 - 16) / 53))
    #expect(
      packed.summary == RunSummary(root: UInt32(packed.pageCount - 1), height: 1, count: 1000))
  }

  @Test(arguments: [0, 1, 0x80] as [UInt8])
  func `reading a run with a changed byte neither traps nor loops`(change: UInt8) throws {
    let entries = (0..<60).map { number in
      (key: Array("k\(number + 100)".utf8), value: [UInt8](repeating: UInt8(number), count: 5))
    }
    let sound = try PackedRun(entries, pageSize: 128)
    #expect(sound.summary.height >= 2)
    for offset in sound.bytes.indices {
      var damaged = sound
      damaged.bytes[offset] =
        change == 0 ? damaged.bytes[offset] ^ 0x10 : damaged.bytes[offset] &+ change
      let run = try damaged.open()
      for number in stride(from: 0, to: 60, by: 7) {
        let key = entries[number].key
        do {
          _ = try run.find(key.span)
        } catch { /* An error is a valid outcome. */  }
      }
      for descending in [false, true] {
        do {
          let keys = try run.keys(from: .unbounded, to: .unbounded, descending: descending)
          let sorted = keys.sorted { $0.lexicographicallyPrecedes($1) }
          #expect(keys == (descending ? sorted.reversed() : sorted))
        } catch { /* As above. */  }
      }
      do {
        _ = try run.coverage(ofPage: 1)
      } catch { /* As above. */  }
    }
  }

  @Test func `a page with random bytes is refused or stays readable`() throws {
    let seed = UInt64.random(in: 0...(.max))
    print("seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let sound = try PackedRun(
      (0..<12).map { (key: [7, UInt8($0)], value: [1, 2, 3]) }, pageSize: 192)
    var accepted = 0
    let probe: [UInt8] = [7, 3]
    for _ in 0..<5000 {
      var damaged = sound
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let offset = Int.random(in: 0..<192, using: &generator)
        damaged.bytes[offset] = UInt8.random(in: 0...255, using: &generator)
      }
      let run = try damaged.open()
      if (try? run.keys(from: .unbounded, to: .unbounded, descending: false)) != nil {
        accepted += 1
        // A page that was read before is not refused later.
        _ = try run.find(probe.span)
      }
    }
    #expect(accepted > 0)
    for length in 0..<40 {
      #expect(throws: PageError.self) {
        _ = try Page(SharedBytes(copying: [UInt8](repeating: 0xFF, count: length)), number: 0)
      }
    }
  }

  @Test func `a scan names a damaged leaf and continues after it is rebuilt`() throws {
    let entries = (0..<200).map { number in
      (key: Array("key \(number + 1000)".utf8), value: [UInt8](repeating: UInt8(number), count: 9))
    }
    let sound = try PackedRun(entries, pageSize: 256)
    for number in 0..<UInt32(sound.pageCount) {
      var damaged = sound
      damaged.bytes[Int(number) * 256] ^= 1
      let run = try damaged.open()
      // The range of an inner page cannot be found where that page is itself on the search path.
      guard let coverage = try? run.coverage(ofPage: number), coverage.level == 0 else { continue }
      var scan = run.scan()
      var keys: [[UInt8]] = []
      var repairs = 0
      while true {
        do {
          guard let entry = try scan.next() else { break }
          keys.append(entry.key.array)
        } catch {
          #expect(throws: PageError.self) { throw error }
          guard case .damaged(let page, _, _) = error, page == number, repairs == 0 else {
            Issue.record("\(error)")
            break
          }
          repairs += 1
          #expect(run.install(entries.filter { coverage.contains($0.key) }, for: number))
        }
      }
      #expect(repairs == 1)
      #expect(keys == entries.map(\.key))
      #expect(!run.install([entries[1], entries[0]], for: number))
    }
  }
}

extension ModelMap {
  init(_ entries: [(key: [UInt8], value: [UInt8])]) {
    self.init()
    for entry in entries { self[entry.key] = entry.value }
  }

  /// Returns the entries that a tree with this limit can store.
  func limited(to limit: Int) -> ModelMap {
    ModelMap(entries.filter { $0.key.count + $0.value.count <= limit })
  }
}
