import Testing

@testable import Divan

/// Tests of the insertions, removals, moves and updates between two lists.
struct ListDifferenceTests {
  private struct Item: Identifiable, Equatable {
    var id: Int
    var text = ""
  }

  @Test func `a difference lists deletions, insertions, moves and updates`() {
    let old = [Item(id: 1), Item(id: 2), Item(id: 3), Item(id: 4)]
    let new = [Item(id: 4), Item(id: 1), Item(id: 3, text: "new"), Item(id: 5)]
    let difference = ListDifference(from: old, to: new)
    #expect(difference.deletions == [1] && difference.insertions == [3])
    #expect(difference.moves.map { [$0.from, $0.to] } == [[3, 0]])
    #expect(difference.updates.map { [$0.from, $0.to] } == [[2, 2]])
    #expect(!difference.isEmpty && ListDifference(from: new, to: new).isEmpty)
  }

  @Test func `applying the difference of two random lists gives the new list`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<1500 {
      let range = 0..<Int.random(in: 1...14, using: &random)
      let isUnique = Int.random(in: 0..<4, using: &random) > 0
      func list() -> [Item] {
        var ids = (0..<Int.random(in: 0...12, using: &random)).map { _ in
          Int.random(in: range, using: &random)
        }
        if isUnique {
          var seen: Set<Int> = []
          ids = ids.filter { seen.insert($0).inserted }
        }
        return ids.map { Item(id: $0, text: Int.random(in: 0..<4, using: &random) == 0 ? "b" : "") }
      }
      var (old, new) = (list(), list())
      if Bool.random(using: &random) {
        new = old
        if let index = new.indices.randomElement(using: &random) {
          new.insert(new.remove(at: index), at: Int.random(in: 0..<old.count, using: &random))
        }
      }
      let difference = ListDifference(from: old, to: new)
      #expect(TableView.show(old, new, difference) == new, "seed \(seed): \(old) \(new)")
      difference.apply(to: &old, from: new)
      #expect(old == new, "seed \(seed)")
    }
  }

  @Test func `known changes of a sorted list give a difference that moves only changed elements`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<800 {
      // Elements sorted by a number, which changes for some of them.
      var numbers: [Int: Int] = [:]
      for id in 0..<Int.random(in: 0...40, using: &random) {
        numbers[id] = Int.random(in: 0..<100, using: &random)
      }
      func sorted() -> [Int] {
        numbers.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
      }
      let old = sorted()
      var changed: Set<Int> = []
      for _ in 0..<Int.random(in: 0...25, using: &random) {
        let id = Int.random(in: 0..<50, using: &random)
        numbers[id] =
          Bool.random(using: &random) ? Int.random(in: 0..<100, using: &random) : nil
        changed.insert(id)
      }
      let new = sorted()
      let shifted = changed.compactMap { id in
        old.firstIndex(of: id).flatMap { from in
          new.firstIndex(of: id).map { ListDifference.Match(from: from, to: $0) }
        }
      }
      let difference = ListDifference(
        deletions: old.indices.filter { !new.contains(old[$0]) },
        insertions: new.indices.filter { !old.contains(new[$0]) }, shifted: shifted, updates: [])
      #expect(TableView.show(old, new, difference) == new, "seed \(seed): \(old) \(new)")
      #expect(difference.moves.allSatisfy { changed.contains(new[$0.to]) }, "seed \(seed)")
      if old == new { #expect(difference.isEmpty, "seed \(seed)") }
      var list = old
      difference.apply(to: &list, inserting: difference.insertions.map { new[$0] })
      #expect(list == new, "seed \(seed): \(old) \(new)")
    }
  }

  @Test func `a difference has the fewest possible moves`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<300 {
      let old = Array(0..<Int.random(in: 1...8, using: &random))
      let new = old.shuffled(using: &random)
      let difference = ListDifference(from: old, to: new, id: \.self, isEqual: ==)
      // The largest number of elements that can keep their relative order.
      let most = (0..<1 << old.count).filter { set in
        let kept = new.filter { set >> $0 & 1 == 1 }
        return kept == kept.sorted()
      }.map(\.nonzeroBitCount).max()
      #expect(difference.moves.count == old.count - (most ?? 0), "seed \(seed): \(new)")
      #expect(difference.deletions.isEmpty && difference.insertions.isEmpty)
    }
  }
}
