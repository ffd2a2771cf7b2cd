import DivanLog
import Testing

@testable import Divan

/// The index that a database uses, and one rebuilt from its segments alone.
struct RebuiltIndex {
  private let used: Version
  private let rebuilt: Version

  init(of database: Database) throws {
    used = try database.store.view().state
    var replay = Replay(onto: Version(nodeSize: 4096), isFromNothing: true)
    let segments = used.segments.segments.sorted {
      $0.header.numbers.lowerBound < $1.header.numbers.lowerBound
    }
    for segment in segments { _ = try replay.run(segment, from: nil) }
    rebuilt = replay.state
  }

  /// Expects that both indexes are equal.
  ///
  /// The segments may contain more retained revisions, since compaction has not reached all of
  /// them yet.
  func expectSame(_ comment: Comment) throws {
    #expect(try contents(rebuilt.documents) == contents(used.documents), comment)
    #expect(try contents(rebuilt.sequences) == contents(used.sequences), comment)
    #expect(rebuilt.documentCount == used.documentCount, comment)
    for tree in [\Version.retained, \.catalog] {
      let others = try contents(rebuilt[keyPath: tree])
      let isContained = try contents(used[keyPath: tree]).allSatisfy { others[$0.key] == $0.value }
      #expect(isContained, comment)
    }
    // The trait says that revisions may be retained.
    for state in [used, rebuilt] {
      let documents = try contents(state.documents)
      for key in try contents(state.retained).keys {
        let id = RetainedKey.parts(SharedBytes(copying: key)).id
        let entry = try documents[id.array].map {
          try DocumentEntry.decode(SharedBytes(copying: $0))
        }
        #expect(entry?.traits.contains(.mayRetainOlder) == true, comment)
      }
    }
  }

  private func contents(_ tree: LayeredTree) throws -> [[UInt8]: [UInt8]] {
    var scan = tree.scan()
    var found: [[UInt8]: [UInt8]] = [:]
    while let item = try scan.next() { found[item.key.array] = item.value.array }
    return found
  }
}
