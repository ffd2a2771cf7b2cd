import DivanLog

/// The models of a context that anybody holds, by the IDs of their documents.
///
/// A hash table that holds none of them. Weak references would do that too, but each of them costs a block of memory, and makes
/// all counting of references to its model slower.
///
/// Invariants:
/// - At most one model for each ID; models take themselves out when they go.
/// - A model stands in the slot of its hash, or in the first behind it that was free: between the two none is.
/// - The number of slots is a power of two, or zero; at most two of three are taken.
struct LiveModels {
  private struct Slot {
    var hash: UInt32
    var model: UnheldModel
  }

  private var slots: [Slot?] = []
  private var count = 0

  var isEmpty: Bool { count == 0 }
  /// In no order.
  var all: [Model] { slots.compactMap { $0?.model.ifAlive } }

  /// The order in which models are told of something, so that what their hooks do is the same each time.
  static func isOrdered(_ a: Model, _ b: Model) -> Bool {
    compareUTF8(a.documentID, b.documentID) < 0
  }

  /// The hash of an ID, for whoever looks for its model and then sets it.
  static func hash(of id: String) -> UInt32 {
    UInt32(truncatingIfNeeded: withUTF8(of: id) { $0.quickHash })
  }

  /// The model of an ID, whose hash is given; nil if there is none.
  subscript(id: String, hash hash: UInt32) -> Model? {
    index(of: id, hash).flatMap { slots[$0]?.model.ifAlive }
  }

  /// Makes a model, which has its ID already, the one of that; the ID's hash is given.
  mutating func set(_ model: Model, hash: UInt32) {
    let slot = Slot(hash: hash, model: UnheldModel(model))
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

  /// Takes out a model: whoever asks for its ID gets another.
  ///
  /// - Returns: false if another has come meanwhile.
  @discardableResult
  mutating func remove(_ model: Model) -> Bool {
    model.isKnown = false
    guard !isEmpty else { return false }
    var free = firstIndex(for: model.idHash)
    while let slot = slots[free], !slot.model.isSame(as: model) { free = index(after: free) }
    guard slots[free] != nil else { return false }
    // Those behind it, which would not be found beyond a free slot, move up.
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

extension LiveModels {
  private func firstIndex(for hash: UInt32) -> Int { Int(hash) & (slots.count - 1) }

  private func index(after index: Int) -> Int { (index + 1) & (slots.count - 1) }

  /// How many slots one is behind another, where the first follows the last.
  private func distance(from start: Int, to end: Int) -> Int { (end - start) & (slots.count - 1) }

  private func index(of id: String, _ hash: UInt32) -> Int? {
    guard !isEmpty else { return nil }
    var index = firstIndex(for: hash)
    while let slot = slots[index] {
      if slot.hash == hash, slot.model.stands(for: id) { return index }
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
