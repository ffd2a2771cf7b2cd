import DivanLog
import DivanTesting
import Testing

@testable import Divan

extension LayeredTree {
  func keys(
    from lower: KeyBound = .unbounded, to upper: KeyBound = .unbounded, descending: Bool = false
  ) throws -> [[UInt8]] {
    var keys: [[UInt8]] = []
    var scan = self.scan(from: lower, to: upper, descending: descending)
    while let entry = try scan.next() { keys.append(entry.key.array) }
    return keys
  }

  /// Returns the values of several keys that are looked up together.
  func values(of keys: [[UInt8]]) throws -> [[UInt8]?] {
    var values: [[UInt8]?] = []
    try forEachValue(of: keys.map { SharedBytes(copying: $0) }) { value in
      if let value { values.append(SharedBytes(copying: value).array) } else { values.append(nil) }
    }
    return values
  }

  func model() throws -> ModelMap {
    var model = ModelMap()
    var scan = self.scan()
    while let entry = try scan.next() { model[entry.key.array] = entry.value.array }
    return model
  }
}

@Suite struct `Memtables and sorted runs` {
  @Test(arguments: KeyShape.allCases, [192, 512])
  func
    `layers behave like one sorted array when they are frozen, written and thawed`(
      shape: KeyShape, pageSize: Int
    ) throws
  {
    let seed = UInt64.random(in: 0...(.max))
    print("seed \(seed), \(shape), page \(pageSize)")
    var generator = SeededGenerator(seed: seed)
    var tree = LayeredTree(pageSize: pageSize)
    var model = ModelMap()
    var copies: [(tree: LayeredTree, model: ModelMap)] = []
    let limit = tree.entryLimit
    for step in 0..<1500 {
      let key = shape.key(using: &generator)
      if Int.random(in: 0..<10, using: &generator) < 4 {
        let isNew = try LayeredTree.isUnknownBelow(key, in: tree)
        tree.remove(key.span, isNewSinceCheckpoint: isNew && Bool.random(using: &generator))
        model[key] = nil
      } else {
        let value = KeyShape.value(using: &generator, limit: max(1, min(limit - key.count, 20)))
        tree.set(key.span, value.span)
        model[key] = value
      }
      #expect(try tree.find(key.span)?.array == model[key])
      let probe = shape.key(using: &generator)
      #expect(try tree.find(probe.span)?.array == model[probe])
      #expect(try tree.contains(probe.span) == (model[probe] != nil))
      if step % 20 == 0 {
        // Some keys exist, one of them occurs twice, and some do not exist.
        var keys = (0..<Int.random(in: 0...20, using: &generator)).map { _ in
          shape.key(using: &generator)
        }
        keys += [key, probe, key]
        #expect(try tree.values(of: keys) == keys.map { model[$0] })
      }
      if step % 40 == 0 {
        let lower = shape.bound(using: &generator)
        let upper = shape.bound(using: &generator)
        for descending in [false, true] {
          #expect(
            try tree.keys(from: lower, to: upper, descending: descending)
              == model.scan(from: lower, to: upper, descending: descending))
        }
        copies.append((tree, model))
      }
      switch Int.random(in: 0..<40, using: &generator) {
      case 0 where tree.immutableMemtable == nil: tree.freezeMemtable()
      case 1: tree.unfreezeMemtable()
      case 2 where tree.immutableMemtable != nil:
        let merged = Int.random(in: 0...tree.runs.count, using: &generator)
        let packed = try PackedRun(
          tree.entriesToWrite(mergingNewestRuns: merged), pageSize: pageSize)
        tree.replaceImmutable(with: [try packed.open()] + tree.runs.dropFirst(merged))
      default: break
      }
      tree.memtable.checkInvariants()
    }
    #expect(try tree.model() == model)
    for copy in copies { #expect(try copy.tree.model() == copy.model) }

    // After everything is removed and written, nothing is left.
    tree.unfreezeMemtable()
    for entry in model.entries { tree.remove(entry.key.span) }
    tree.freezeMemtable()
    let rest = try PackedRun(
      tree.entriesToWrite(mergingNewestRuns: tree.runs.count), pageSize: pageSize)
    #expect(rest.summary.count == 0)
    tree.replaceImmutable(with: [try rest.open()])
    #expect(tree.runs.isEmpty)
    #expect(try tree.keys().isEmpty)
  }

  @Test(arguments: [100, 20_000])
  func `estimated counts are within a tenth of the total for any bounds`(
    count: Int
  ) throws {
    func key(_ number: Int) -> [UInt8] {
      [UInt8(number >> 16), UInt8(number >> 8 & 255), UInt8(number & 255)]
    }
    var memtable = LayeredTree(pageSize: 512)
    for number in 0..<count { memtable.set(key(number).span, [1].span) }
    var immutableMemtable = memtable
    immutableMemtable.freezeMemtable()
    let packed = try PackedRun(
      immutableMemtable.entriesToWrite(mergingNewestRuns: 0), pageSize: 512)
    var written = immutableMemtable
    written.replaceImmutable(with: [try packed.open()])
    let bounds: [(KeyBound, at: Int, isAfter: Int)] =
      [0, 1, count / 3, count / 2, count - 1].flatMap { number in
        [(.inclusive(key(number)), number, 0), (.exclusive(key(number)), number, 1)]
      }
    for tree in [memtable, immutableMemtable, written] {
      func estimate(_ lower: KeyBound, _ upper: KeyBound, _ expected: Int) throws {
        let estimate = try tree.estimatedCount(from: lower, to: upper)
        // A neighbouring leaf may be half full, and so may the nodes above it.
        #expect(abs(estimate - expected) <= count / 10, "\(lower) to \(upper)")
      }
      #expect(try tree.estimatedCount(from: .unbounded, to: .unbounded) == count)
      for (lower, first, isAfter) in bounds {
        try estimate(lower, .unbounded, count - first - isAfter)
        for (upper, last, isBefore) in bounds {
          try estimate(lower, upper, max(0, last + 1 - isBefore - first - isAfter))
        }
        try estimate(.unbounded, lower, isAfter == 1 ? first : first + 1)
      }
    }
    #expect(try LayeredTree().estimatedCount(from: .unbounded, to: .unbounded) == 0)
  }

  @Test func `removing a key that no lower layer has leaves no tombstone`() throws {
    var tree = LayeredTree()
    tree.set([1].span, [1].span)
    tree.remove([1].span)
    #expect(tree.memtable.isEmpty)
    tree.set([1].span, [1].span)
    tree.freezeMemtable()
    tree.remove([1].span)
    #expect(tree.memtable.count == 1)
    #expect(try tree.find([1].span) == nil)
    tree.unfreezeMemtable()
    #expect(tree.memtable.isEmpty)
  }

  @Test func `changes to a tree do not affect a scan that has begun`() throws {
    var tree = LayeredTree(pageSize: 256)
    for number in 0..<200 { tree.set([UInt8(number)].span, [1].span) }
    tree.freezeMemtable()
    for number in 100..<150 { tree.remove([UInt8(number)].span) }
    var scan = tree.scan()
    var keys: [UInt8] = []
    while let entry = try scan.next() {
      keys.append(entry.key[0])
      tree.remove(entry.key.array.span)
      tree.set([entry.key[0], 7].span, [2].span)
    }
    #expect(keys == Array(0..<100) + Array(150..<200))
    #expect(try tree.keys().allSatisfy { $0.count == 2 })
  }
}

extension LayeredTree {
  /// Whether no layer below the overlay has the key.
  fileprivate static func isUnknownBelow(_ key: [UInt8], in tree: LayeredTree) throws -> Bool {
    if let immutableMemtable = tree.immutableMemtable, immutableMemtable.contains(key.span) {
      return false
    }
    return try tree.runs.allSatisfy { try $0.find(key.span) == nil }
  }
}
