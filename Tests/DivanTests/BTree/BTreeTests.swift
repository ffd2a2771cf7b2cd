import DivanLog
import DivanTesting
import Testing

@testable import Divan

/// A sorted array that serves as the model of a B-tree.
struct ModelMap: Equatable {
  private(set) var entries: [(key: [UInt8], value: [UInt8])] = []

  static func == (a: ModelMap, b: ModelMap) -> Bool {
    a.entries.elementsEqual(b.entries) { $0.key == $1.key && $0.value == $1.value }
  }

  private func position(_ key: [UInt8]) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].key.lexicographicallyPrecedes(key) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }

  subscript(key: [UInt8]) -> [UInt8]? {
    get {
      let index = position(key)
      return index < entries.count && entries[index].key == key ? entries[index].value : nil
    }
    set {
      let index = position(key)
      let exists = index < entries.count && entries[index].key == key
      switch (newValue, exists) {
      case (let value?, true): entries[index].value = value
      case (let value?, false): entries.insert((key, value), at: index)
      case (nil, true): entries.remove(at: index)
      case (nil, false): break
      }
    }
  }

  func scan(from lower: KeyBound, to upper: KeyBound, descending: Bool) -> [[UInt8]] {
    let keys = entries.map(\.key).filter { key in
      switch lower {
      case .unbounded: true
      case .inclusive(let bound): !key.lexicographicallyPrecedes(bound)
      case .exclusive(let bound): bound.lexicographicallyPrecedes(key)
      }
    }.filter { key in
      switch upper {
      case .unbounded: true
      case .inclusive(let bound): !bound.lexicographicallyPrecedes(key)
      case .exclusive(let bound): key.lexicographicallyPrecedes(bound)
      }
    }
    return descending ? keys.reversed() : keys
  }
}

/// The shapes of keys that tests use.
enum KeyShape: CaseIterable {
  /// A few bytes of few letters: many are prefixes of one another, and some contain zeros.
  case tiny
  /// A long common beginning, then digits.
  case prefixed
  /// Any bytes.
  case random
  /// Eight bytes, big-endian.
  case number

  func key(using generator: inout SeededGenerator) -> [UInt8] {
    switch self {
    case .tiny:
      let letters: [UInt8] = [0, 1, 97, 255]
      return (0..<Int.random(in: 0...6, using: &generator)).map { _ in
        letters[Int.random(in: 0..<4, using: &generator)]
      }
    case .prefixed:
      return Array("user:\(Int.random(in: 0..<3000, using: &generator))".utf8)
    case .random:
      return (0..<Int.random(in: 1...20, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
    case .number:
      let number = Int.random(in: 0..<2000, using: &generator)
      return bigEndian(number)
    }
  }

  static func value(using generator: inout SeededGenerator, limit: Int) -> [UInt8] {
    [UInt8](
      repeating: UInt8.random(in: 1...255, using: &generator),
      count: Int.random(in: 1...limit, using: &generator))
  }

  func bound(using generator: inout SeededGenerator) -> KeyBound {
    switch Int.random(in: 0..<4, using: &generator) {
    case 0: .unbounded
    case 1: .exclusive(key(using: &generator))
    default: .inclusive(key(using: &generator))
    }
  }
}

extension BTree {
  var model: ModelMap {
    var model = ModelMap()
    var scan = self.scan()
    while let entry = scan.next() { model[entry.key.array] = entry.value.array }
    return model
  }

  func keys(from lower: KeyBound, to upper: KeyBound, descending: Bool) -> [[UInt8]] {
    var keys: [[UInt8]] = []
    var scan = self.scan(from: lower, to: upper, descending: descending)
    while let entry = scan.next() { keys.append(entry.key.array) }
    return keys
  }
}

@Suite struct `B-tree in memory` {
  @Test(arguments: KeyShape.allCases, [128, 256, 4064])
  func `a B-tree behaves like a sorted array, and its copies never change`(
    shape: KeyShape, pageSize: Int
  ) {
    let seed = UInt64.random(in: 0...(.max))
    print("seed \(seed), \(shape), page \(pageSize)")
    var generator = SeededGenerator(seed: seed)
    var tree = BTree(pageSize: pageSize)
    var model = ModelMap()
    var copies: [(tree: BTree, model: ModelMap)] = []
    let valueLimit = min(tree.entryLimit - 20, 40)
    for step in 0..<2500 {
      let key = shape.key(using: &generator)
      // Growing, then shrinking, then growing again.
      let removes = (step / 500) % 2 == 1 ? 7 : 2
      if valueLimit < 1 || Int.random(in: 0..<10, using: &generator) < removes {
        let victim =
          model.entries.isEmpty || Bool.random(using: &generator)
          ? key : model.entries.randomElement(using: &generator)?.key ?? key
        #expect(tree.remove(victim.span) == (model[victim] != nil))
        model[victim] = nil
      } else {
        let value = KeyShape.value(using: &generator, limit: valueLimit)
        #expect(tree.set(key.span, value.span) == (model[key] != nil))
        model[key] = value
      }
      #expect(tree.count == model.entries.count)
      let probe = shape.key(using: &generator)
      #expect(tree.find(probe.span)?.array == model[probe])
      #expect(tree.contains(probe.span) == (model[probe] != nil))
      if step % 25 == 0 {
        tree.checkInvariants()
        let lower = shape.bound(using: &generator)
        let upper = shape.bound(using: &generator)
        for descending in [false, true] {
          #expect(
            tree.keys(from: lower, to: upper, descending: descending)
              == model.scan(from: lower, to: upper, descending: descending))
        }
      }
      if step % 200 == 0 { copies.append((tree, model)) }
      if step % 900 == 0 { copies.removeAll() }
    }
    for copy in copies {
      copy.tree.checkInvariants()
      #expect(copy.tree.model == copy.model)
    }
    for key in model.entries.map(\.key).shuffled(using: &generator) { tree.remove(key.span) }
    tree.checkInvariants()
    #expect(tree.isEmpty)
  }

  @Test(arguments: KeyShape.allCases, [192, 256, 4064])
  func `setting a batch equals setting its keys one by one, and copies never change`(
    shape: KeyShape, pageSize: Int
  ) {
    let seed = UInt64.random(in: 0...(.max))
    print("seed \(seed), \(shape), page \(pageSize)")
    var generator = SeededGenerator(seed: seed)
    var tree = BTree(pageSize: pageSize)
    var model = ModelMap()
    var copies: [(tree: BTree, model: ModelMap)] = []
    for round in 0..<30 {
      var batch = EntryBatch(sharedSize: shape == .prefixed ? 5 : 0)
      var keys: Set<[UInt8]> = []
      let limit = [1, 10, 300][round % 3]
      for _ in 0..<Int.random(in: 0...limit, using: &generator) {
        let key = shape.key(using: &generator)
        keys.insert(key)
        // Some keys occur twice.
        for _ in 0...key.count % 2 {
          batch.append(value: UInt8(round)) {
            $0.append(key)
            return 0
          }
        }
      }
      batch.sort()
      let count = batch.count
      #expect(count == keys.count)
      let middle = Int.random(in: 0...count, using: &generator)
      copies.append((tree, model))
      tree.set(batch, 0..<middle)
      copies.append((tree, model))
      for key in keys.sorted(by: { $0.lexicographicallyPrecedes($1) }).prefix(middle) {
        model[key] = [UInt8(round)]
      }
      copies[copies.count - 1].model = model
      tree.set(batch, middle..<count)
      for key in keys { model[key] = [UInt8(round)] }
      tree.checkInvariants()
      #expect(tree.count == model.entries.count)
      #expect(tree.model == model)
      // Single keys are set or removed among them.
      for _ in 0..<20 {
        let key = shape.key(using: &generator)
        if Bool.random(using: &generator) {
          tree.set(key.span, [77].span)
          model[key] = [77]
        } else {
          tree.remove(key.span)
          model[key] = nil
        }
      }
      tree.checkInvariants()
      if round % 10 == 9 {
        for copy in copies { #expect(copy.tree.model == copy.model) }
        copies.removeAll()
      }
    }
  }

  @Test
  func `setting batches leaves well-filled leaves, even between existing keys`() {
    func fill(_ numbers: StrideTo<Int>, into tree: inout BTree) {
      var batch = EntryBatch()
      for number in numbers.reversed() {
        batch.append(value: 1) {
          $0.append(bigEndian(number))
          return 0
        }
      }
      batch.sort()
      for start in stride(from: 0, to: batch.count, by: 100) {
        tree.set(batch, start..<min(start + 100, batch.count))
      }
      tree.checkInvariants()
    }
    var tree = BTree(pageSize: 512)
    fill(stride(from: 0, to: 6000, by: 2), into: &tree)
    // 8 + 1 bytes, two lengths, a head and a slot: 29 entries fill a page.
    let least = (3000 + 28) / 29
    #expect(tree.leafCount >= least && tree.leafCount < least * 5 / 4)
    fill(stride(from: 1, to: 6000, by: 2), into: &tree)
    #expect(tree.count == 6000 && tree.leafCount < 2 * least * 5 / 4)
  }

  @Test func `inserting ascending keys fills every leaf`() {
    var tree = BTree(pageSize: 512)
    for number in 0..<3000 {
      tree.set(bigEndian(number).span, [UInt8](repeating: 1, count: 12).span)
    }
    tree.checkInvariants()
    // 8 + 12 bytes, two lengths, a head and a slot: 17 entries fill a page.
    #expect(tree.leafCount == (3000 + 16) / 17)
  }

  @Test func `a retained value does not change when its key is overwritten`() throws {
    var tree = BTree()
    for number in 0..<500 { tree.set(bigEndian(number).span, bigEndian(number).span) }
    let kept = (0..<500).compactMap { tree.find(bigEndian($0).span) }
    try #require(kept.count == 500)
    for number in 0..<500 { tree.set(bigEndian(number).span, bigEndian(number + 1).span) }
    for number in 0..<500 {
      #expect(kept[number].array == bigEndian(number))
      #expect(tree.find(bigEndian(number).span)?.array == bigEndian(number + 1))
    }
  }

  @Test func `tasks read consistent copies while one writer continues`() async {
    var tree = BTree(pageSize: 256)
    for number in 0..<2000 { tree.set(bigEndian(number).span, bigEndian(0).span) }
    await withTaskGroup(of: Bool.self) { group in
      for round in 1...40 {
        let copy = tree
        group.addTask {
          // Every value in a copy is from the round before the copy was taken.
          let expected = bigEndian(round - 1)
          var scan = copy.scan()
          var count = 0
          while let entry = scan.next() {
            guard entry.value.array == expected else { return false }
            count += 1
          }
          return count == 2000 && copy.find(bigEndian(777).span)?.array == expected
        }
        for number in 0..<2000 { tree.set(bigEndian(number).span, bigEndian(round).span) }
      }
      for await isRight in group { #expect(isRight) }
    }
    tree.checkInvariants()
  }
}

/// Returns a number as a key that sorts as the number does.
func bigEndian(_ number: Int) -> [UInt8] {
  (0..<8).map { UInt8(truncatingIfNeeded: UInt64(number) >> (56 - 8 * UInt64($0))) }
}

extension BTree {
  fileprivate var leafCount: Int { BTree.leafCount(root) }

  private static func leafCount(_ node: Node) -> Int {
    if node.level == 0 { return 1 }
    return (0...node.page.count).reduce(0) { $0 + leafCount(node.child($1)) }
  }
}
