import Foundation
import Testing

/// In release builds `precondition` ends the process without a message, so that what the user of the public API has done wrong
/// must end it with `require` or `refuseUse`.
struct MisuseTests {
  @Test func `what a user can do wrong is said in release builds too`() {
    // Where a broken precondition is a mistake of ours, and not of who uses the API.
    let ours: [String: Int] = [
      "Sources/Divan/Model/Properties/Persisted.swift": 5,
      "Sources/Divan/Model/Observation/ModelObservation.swift": 1,
      "Sources/Divan/Model/Properties/ModelProperty.swift": 1,
      "Sources/Divan/Query/Live/LiveUpdates.swift": 1,
      "Sources/Divan/Query/PredicateCache/MatchResults.swift": 2,
      "Sources/Divan/Query/PredicateCache/PropertyColumn.swift": 1,
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
