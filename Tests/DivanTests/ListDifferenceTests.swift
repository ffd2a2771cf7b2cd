import Divan
import Testing

/// From two lists to what comes, goes, moves and changes between them.
struct ListDifferenceTests {
  private struct Item: Identifiable, Equatable {
    var id: Int
    var text = ""
  }

  /// Makes the new list as a table view does: takes out what goes and what moves, then puts in what comes and what
  /// moves, from the front, and at last shows anew what has changed.
  private func table(_ old: [Item], _ new: [Item], _ difference: ListDifference) -> [Item] {
    var list = old
    let gone = (difference.deletions + difference.moves.map(\.from)).sorted(by: >)
    for index in gone { list.remove(at: index) }
    let come =
      difference.insertions.map { ($0, new[$0]) } + difference.moves.map { ($0.to, old[$0.from]) }
    for (index, item) in come.sorted(by: { $0.0 < $1.0 }) { list.insert(item, at: index) }
    for update in difference.updates {
      #expect(list[update.to] == old[update.from])
      list[update.to] = new[update.to]
    }
    return list
  }

  @Test func `what comes, goes, moves and changes is told apart`() {
    let old = [Item(id: 1), Item(id: 2), Item(id: 3), Item(id: 4)]
    let new = [Item(id: 4), Item(id: 1), Item(id: 3, text: "new"), Item(id: 5)]
    let difference = ListDifference(from: old, to: new)
    #expect(difference.deletions == [1] && difference.insertions == [3])
    #expect(difference.moves.map { [$0.from, $0.to] } == [[3, 0]])
    #expect(difference.updates.map { [$0.from, $0.to] } == [[2, 2]])
    #expect(!difference.isEmpty && ListDifference(from: new, to: new).isEmpty)
  }

  @Test func `random lists become each other, with as few moves as there can be`() {
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
      #expect(table(old, new, difference) == new, "seed \(seed): \(old) \(new)")
      difference.apply(to: &old, from: new)
      #expect(old == new, "seed \(seed)")
    }
  }

  @Test func `no list needs fewer moves`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<300 {
      let old = Array(0..<Int.random(in: 1...8, using: &random))
      let new = old.shuffled(using: &random)
      let difference = ListDifference(from: old, to: new, id: \.self, isEqual: ==)
      // The most elements that can stay where they are among each other.
      let most = (0..<1 << old.count).filter { set in
        let kept = new.filter { set >> $0 & 1 == 1 }
        return kept == kept.sorted()
      }.map(\.nonzeroBitCount).max()
      #expect(difference.moves.count == old.count - (most ?? 0), "seed \(seed): \(new)")
      #expect(difference.deletions.isEmpty && difference.insertions.isEmpty)
    }
  }
}
