import DivanLog
import DivanTesting
import Testing

@testable import Divan

extension LayeredScan {
  /// Counts the remaining entries by visiting each of them.
  fileprivate func visited(_ isSound: (Int, Int) -> Bool) throws -> EntryCount {
    var scan = self
    var found = EntryCount()
    while let entry = try scan.next() {
      if isSound(entry.key.count, entry.value.count) {
        found.sound += 1
      } else {
        found.unsound += 1
      }
    }
    return found
  }

  /// Counts the remaining entries in the leaves; none are left afterwards.
  fileprivate func counted(_ isSound: (Int, Int) -> Bool) throws -> EntryCount {
    var scan = self
    var found = EntryCount()
    try scan.count(into: &found) { isSound($0.count, $1.count) }
    try scan.count(into: &found) { _, _ in false }
    return found
  }
}

/// Tests that counting entries in the leaves gives the same result as visiting each entry.
///
/// Invalid entries are not counted.
@Suite struct `Counting entries` {
  /// Whether an entry is valid; some entries of every leaf are not.
  private func isSound(_ keySize: Int, _ valueSize: Int) -> Bool {
    (keySize + valueSize) % 4 != 0
  }

  @Test(arguments: KeyShape.allCases, [192, 512])
  func `counting equals visiting every entry, in any layers and from any position`(
    shape: KeyShape, pageSize: Int
  ) throws {
    let seed = UInt64.random(in: 0...(.max))
    print("seed \(seed), \(shape), page \(pageSize)")
    var generator = SeededGenerator(seed: seed)
    var tree = LayeredTree(pageSize: pageSize)
    var highestCount = 0
    for step in 0..<800 {
      let key = shape.key(using: &generator)
      if Int.random(in: 0..<10, using: &generator) < 3 {
        tree.remove(key.span)
      } else {
        let limit = max(1, min(tree.entryLimit - key.count, 20))
        tree.set(key.span, KeyShape.value(using: &generator, limit: limit).span)
      }
      switch Int.random(in: 0..<60, using: &generator) {
      case 0 where tree.immutableMemtable == nil: tree.freezeMemtable()
      case 1...4 where tree.immutableMemtable != nil:
        let merged = Int.random(in: 0...tree.runs.count, using: &generator)
        let entries = tree.entriesToWrite(mergingNewestRuns: merged)
        // Tombstones among them are kept and counted.
        #expect(try entries.counted(isSound) == entries.visited(isSound), "step \(step)")
        let packed = try PackedRun(entries, pageSize: pageSize)
        tree.replaceImmutable(with: [try packed.open()] + tree.runs.dropFirst(merged))
      default: break
      }
      guard step % 50 == 0 else { continue }
      for (lower, upper) in [
        (.unbounded, .unbounded), (shape.bound(using: &generator), shape.bound(using: &generator)),
      ] as [(KeyBound, KeyBound)] {
        for descending in [false, true] {
          var scan = tree.scan(from: lower, to: upper, descending: descending)
          for _ in 0..<Int.random(in: 0...3, using: &generator) { _ = try scan.next() }
          let found = try scan.counted(isSound)
          #expect(try found == scan.visited(isSound), "step \(step): \(lower) to \(upper)")
          highestCount = max(highestCount, found.sound)
        }
      }
    }
    #expect(highestCount > 50)
    #expect(try LayeredTree().scan().counted(isSound) == EntryCount())
  }

  /// Entries that were counted before the error are neither lost nor counted again.
  @Test(arguments: [false, true])
  func `counting continues at a damaged leaf after it is rebuilt`(descending: Bool) throws {
    let entries = (0..<200).map { number in
      (key: Array("key \(number + 1000)".utf8), value: [UInt8](repeating: UInt8(number), count: 9))
    }
    let sound = try PackedRun(entries, pageSize: 256)
    var repairedCount = 0
    for number in 0..<UInt32(sound.pageCount) {
      var damaged = sound
      damaged.bytes[Int(number) * 256] ^= 1
      let run = try damaged.open()
      // The range of an inner page cannot be found where that page is itself on the search path.
      guard let coverage = try? run.coverage(ofPage: number), coverage.level == 0 else { continue }
      var tree = LayeredTree(runs: [run], pageSize: 256)
      // One entry is changed, one is removed, one is new.
      let (changed, removed) = (entries[50].key, entries[120].key)
      let (new, value) = (entries[77].key + [1], [UInt8(1)])
      tree.set(changed.span, value.span)
      tree.set(new.span, value.span)
      tree.remove(removed.span)
      var scan = tree.scan(descending: descending)
      var count = EntryCount()
      var errors: [PageError] = []
      while errors.count < 2 {
        do throws(PageError) {
          try scan.count(into: &count) { _, _ in true }
          break
        } catch {
          errors.append(error)
          #expect(run.install(entries.filter { coverage.contains($0.key) }, for: number))
        }
      }
      guard case .damaged(number, _, _)? = errors.first else {
        Issue.record("page \(number): \(errors)")
        continue
      }
      #expect(errors.count == 1)
      #expect(count == EntryCount(sound: 200), "page \(number)")
      repairedCount += 1
    }
    #expect(repairedCount > 20)
  }

  /// An ID with two sizes, and one that is longer than its key.
  @Test(arguments: [[1, 2], [200]] as [[UInt8]], [false, true])
  func `counting an index with an invalid entry reports damage`(
    value: [UInt8], isWritten: Bool
  ) throws {
    let store = IndexFixture()
    let database = try store.open()
    try database.addIndex(store.byYear)
    try store.fill(database, 0..<40)
    let number = try #require(try database.store.view().state.indexes.first?.number)
    let key = IndexEntries.prefix(number) + IndexedValue("more").bytes
    database.tamper { $0.catalog.set(key.span, value.span) }
    if isWritten { try database.writeCheckpoint() }
    let snapshot = try database.snapshot()
    #expect(snapshot.view.state.catalog.memtable.isEmpty == isWritten)
    for range in [.all, .prefix("m")] as [IndexRange] {
      let error = #expect(throws: DatabaseError.self) {
        _ = try snapshot.count(by: "by year", range)
      }
      #expect(error?.code == .damaged, "\(range)")
    }
    #expect(try snapshot.count(by: "by year", ..<1930) > 0)
  }
}
