import Dispatch
import Synchronization

/// Work that is done one at a time on a thread of its own, in turns for the keys that wait.
///
/// Each key has a share of the thread, whatever others ask for. The work that waits is limited, for
/// all together and for each key. If there is no room, the newest work of the key with the most
/// gives way to that of a key with less.
final class FairQueue<Key: Hashable & Sendable>: Sendable {
  private struct Item: Sendable {
    let work: @Sendable () -> Bool
    /// Receives the result of the work, or nil if it was not done.
    let waiter: CheckedContinuation<Bool?, Never>
  }

  private struct State {
    var waiting: [Key?: [Item]] = [:]
    /// The keys of these, the one whose turn is next first.
    var turns: [Key?] = []
    var count = 0
    var isWorking = false
  }

  private let state = Mutex(State())
  private let queue: DispatchQueue
  private let limit: Int
  private let keyLimit: Int

  /// Creates a queue.
  ///
  /// - Parameters:
  ///   - limit: The work that may wait.
  ///   - keyLimit: The work of each key that may wait. A key that is nil stands for many clients,
  ///     and may have all.
  ///   - label: The name of the thread's queue.
  init(_ limit: Int, each keyLimit: Int, label: String) {
    (self.limit, self.keyLimit) = (limit, keyLimit)
    queue = DispatchQueue(label: label)
  }

  /// The number of waiting pieces of work.
  var waitingCount: Int { state.withLock { $0.count } }

  /// Does some work, and returns its result; nil if too much waits.
  func run(for key: Key?, _ work: @escaping @Sendable () -> Bool) async -> Bool? {
    await withCheckedContinuation { waiter in
      let (refused, begins) = state.withLock { state in
        let refused = add(Item(work: work, waiter: waiter), key, to: &state)
        let begins = !state.isWorking && state.count > 0
        if begins { state.isWorking = true }
        return (refused, begins)
      }
      refused?.waiter.resume(returning: nil)
      if begins { queue.async { self.workOff() } }
    }
  }

  private func workOff() {
    while let item = state.withLock({ next(&$0) }) { item.waiter.resume(returning: item.work()) }
  }

  /// Adds an item; returns the one for which there is no room, which can be the same.
  private func add(_ item: Item, _ key: Key?, to state: inout State) -> Item? {
    let count = state.waiting[key]?.count ?? 0
    guard key == nil || count < keyLimit else { return item }
    var refused: Item?
    if state.count == limit {
      // The key with the most has at least one, as the limit is not 0.
      let most = state.turns.max { state.waiting[$0]?.count ?? 0 < state.waiting[$1]?.count ?? 0 }
      guard let most, let longest = state.waiting[most]?.count, longest > count + 1 else {
        return item
      }
      refused = state.waiting[most]?.popLast()
      state.count -= 1
    }
    if count == 0 { state.turns.append(key) }
    state.waiting[key, default: []].append(item)
    state.count += 1
    return refused
  }

  /// Takes the first item of the key whose turn it is; ends the work if there is none.
  private func next(_ state: inout State) -> Item? {
    guard let key = state.turns.first, let item = state.waiting[key]?.removeFirst() else {
      state.isWorking = false
      return nil
    }
    state.turns.removeFirst()
    state.count -= 1
    if state.waiting[key]?.isEmpty ?? true {
      state.waiting[key] = nil
    } else {
      state.turns.append(key)
    }
    return item
  }
}
