import Foundation
import Testing

/// Tests that misuse of the public API stops the process with a message.
///
/// In release builds, `precondition` prints none. Such checks must call `require` or `refuseUse`.
struct MisuseTests {
  @Test func `code behind the public API has no precondition that a caller can break`() {
    // Preconditions that only a mistake in Divan can break.
    let ours: [String: Int] = [
      "Sources/Divan/Model/Properties/Persisted.swift": 4,
      "Sources/Divan/Model/Observation/ModelObservation.swift": 1,
      "Sources/Divan/Model/Properties/ModelProperty.swift": 1,
      "Sources/Divan/Query/Live/LiveUpdates.swift": 1,
      "Sources/Divan/Query/PredicateCache/MatchResults.swift": 1,
      "Sources/DivanTesting/SimulatedState.swift": 1,
    ]
    let tree = SourceTree()
    var found: [String: Int] = [:]
    let files =
      ["Sources/Divan/Model", "Sources/Divan/Query", "Sources/DivanTesting"]
      .flatMap { tree.files(in: $0) }
    for file in files {
      let count = file.code.components(separatedBy: "precondition").count - 1
      if count > 0 { found[file.path] = count }
    }
    #expect(files.count > 100)
    #expect(found == ours)
  }
}
