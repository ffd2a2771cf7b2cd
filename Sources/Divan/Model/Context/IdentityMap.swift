import DivanLog

/// The live models of a context, by the IDs of their documents.
///
/// A hash table of unretained references. Weak references would cost a block of memory each, and
/// would slow down all reference counting of their models.
///
/// Invariants:
/// - There is at most one model for each ID. Models remove themselves when they are deallocated.
/// - A model is in the slot of its hash, or in a later one with no free slot between the two.
/// - The number of slots is zero or a power of two; at most two thirds are in use.
struct IdentityMap {
  private struct Slot {
    var hash: UInt32
    var model: UnownedModel
  }

  private var slots: [Slot?] = []
  private var count = 0

  var isEmpty: Bool { count == 0 }
  /// All models, in no particular order.
  var all: [Model] { slots.compactMap { $0?.model.ifAlive } }

  /// The order in which models are updated and their hooks are called, the same each time.
  static func isOrdered(_ a: Model, _ b: Model) -> Bool {
    compareUTF8(a.documentID, b.documentID) < 0
  }

  /// The hash of an ID, computed once for looking up its model and setting it.
  static func hash(of id: String) -> UInt32 {
    UInt32(truncatingIfNeeded: withUTF8(of: id) { $0.quickHash })
  }

  /// The model of an ID with the given hash; nil if there is none.
  subscript(id: String, hash hash: UInt32) -> Model? {
    index(of: id, hash).flatMap { slots[$0]?.model.ifAlive }
  }

  /// Sets the model of an ID with the given hash; the model already has the ID.
  mutating func set(_ model: Model, hash: UInt32) {
    let slot = Slot(hash: hash, model: UnownedModel(model))
    if let index = index(of: model.documentID, hash) {
      slots[index] = slot
    } else {
      if 3 * (count + 1) > 2 * slots.count { grow() }
      slots[freeIndex(for: hash)] = slot
      count += 1
    }
    model.idHash = hash
    model.isKnown = true
  }

  /// Removes a model; a lookup of its ID no longer finds it.
  ///
  /// - Returns: false if another model has replaced it.
  @discardableResult
  mutating func remove(_ model: Model) -> Bool {
    model.isKnown = false
    guard !isEmpty else { return false }
    var free = firstIndex(for: model.idHash)
    while let slot = slots[free], !slot.model.isSame(as: model) { free = index(after: free) }
    guard slots[free] != nil else { return false }
    // Later models move up if the free slot would otherwise hide them.
    var next = index(after: free)
    while let slot = slots[next] {
      if distance(from: firstIndex(for: slot.hash), to: next) >= distance(from: free, to: next) {
        slots[free] = slot
        free = next
      }
      next = index(after: next)
    }
    slots[free] = nil
    count -= 1
    return true
  }
}

extension IdentityMap {
  private func firstIndex(for hash: UInt32) -> Int { Int(hash) & (slots.count - 1) }

  private func index(after index: Int) -> Int { (index + 1) & (slots.count - 1) }

  /// The number of slots from one to another, where the first follows the last.
  private func distance(from start: Int, to end: Int) -> Int { (end - start) & (slots.count - 1) }

  private func index(of id: String, _ hash: UInt32) -> Int? {
    guard !isEmpty else { return nil }
    var index = firstIndex(for: hash)
    while let slot = slots[index] {
      if slot.hash == hash, slot.model.hasID(id) { return index }
      index = self.index(after: index)
    }
    return nil
  }

  private func freeIndex(for hash: UInt32) -> Int {
    var index = firstIndex(for: hash)
    while slots[index] != nil { index = self.index(after: index) }
    return index
  }

  private mutating func grow() {
    let old = slots
    slots = Array(repeating: nil, count: max(16, 2 * old.count))
    for case let slot? in old { slots[freeIndex(for: slot.hash)] = slot }
  }
}
