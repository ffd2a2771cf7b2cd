import DivanTesting
import ProofKit
import Testing

@testable import Divan

/// Random runs of a context that saves on other threads, beside another writer.
@MainActor
struct ModelAsyncRunTests {
  private final class Item: Model {
    @Persisted var mine = 0
    @Persisted var list: [Int] = []
    @Persisted var theirs = 0
  }

  /// What an item should have, computed without the store.
  private struct Plain: Equatable {
    var mine = 0
    var list: [Int] = []
    var theirs = 0
  }

  @Test(arguments: 0..<12)
  func `whatever is changed during saves is stored in the end`(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let database = try Database.inMemory()
    let context = database.makeContext()
    context.undoLimit = seed % 2 == 0 ? 3 : 0
    var items: [Item] = []
    var plain: [Plain] = []
    var writer: HeldWriter?
    var saves: [Task<Void, any Error>] = []
    var overlapCount = 0
    for step in 1...300 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        items.append(Item(in: context, id: "\(items.count)"))
        plain.append(Plain())
      case 1...4:
        guard let index = items.indices.randomElement(using: &random) else { continue }
        if items[index].isBeingSaved { overlapCount += 1 }
        if Bool.random(using: &random) {
          items[index].mine = step
          plain[index].mine = step
        } else {
          items[index].list.append(step)
          plain[index].list.append(step)
        }
      case 5, 6:
        let few = Array(items.shuffled(using: &random).prefix(3))
        saves.append(
          few.isEmpty || Bool.random(using: &random)
            ? Task { try await context.save() } : Task { try await context.saveModels(few) })
        await Task.yield()
      case 7:
        writer?.release()
        // The other writer changes a property of a few documents that exist by then.
        let ids = items.indices.shuffled(using: &random).prefix(2)
        let stored = try ids.filter { try database.json("\($0)") != nil }
        for index in stored { plain[index].theirs = step }
        writer = HeldWriter(database) { transaction in
          for index in stored { try transaction.update("\(index)") { $0["theirs"] = Value(step) } }
        }
      case 8:
        writer?.release()
        writer = nil
        if Bool.random(using: &random) { try saveWaiting(context) }
        if Bool.random(using: &random) { try context.refresh() }
      default:
        await Task.yield()
      }
    }
    writer?.release()
    for save in saves { try await save.value }
    try await context.save()
    #expect(context.unsavedModels.isEmpty, "seed \(seed)")
    #expect(overlapCount > 0, "seed \(seed)")
    try context.refresh()
    for (index, item) in items.enumerated() {
      let found = try database.snapshot().document("\(index)")
      let document = try #require(found, "seed \(seed)")
      let stored = Plain(
        mine: document["mine"]?.intValue ?? 0,
        list: document["list"]?.arrayValue?.compactMap(\.intValue) ?? [],
        theirs: document["theirs"]?.intValue ?? 0)
      #expect(stored == plain[index], "seed \(seed), item \(index)")
      let shown = Plain(mine: item.mine, list: item.list, theirs: item.theirs)
      #expect(shown == plain[index], "seed \(seed), item \(index)")
    }
  }

  private func saveWaiting(_ context: ModelContext) throws { try context.save() }
}
