import Foundation
import TestSupport
import Testing

/// Tests that the examples of public types are code that other tests run.
struct TypeExampleTests {
  /// The types whose examples no test runs: they have gaps, show expressions only, need SwiftUI or
  /// UIKit, or write to the current directory.
  private static let untested: Set<String> = [
    "Database", "Document", "Filter", "IDRange", "IndexRangeExpression", "JSONElements",
    "ListDifference", "Live", "LiveModels", "MigrationTrial", "ModelID", "ObservedChanges",
    "PreviewStore", "Schema", "SimulatedDisk", "ThreeWayMerge", "ValueConvertible", "ViewQuery",
  ]

  /// Returns the names of the public types in a file, each with its comment.
  private func comments(ofTypesIn source: String) throws -> [(type: String, comment: String)] {
    let declaration =
      /^(?:nonisolated )?(?:public|open) (?:final )?(?:struct|class|enum|protocol) (?!var |func )(\w+)/
    var types: [(type: String, comment: String)] = []
    var comment = ""
    for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
      let text = line.trimmingCharacters(in: .whitespaces)
      if text.hasPrefix("///") {
        comment += text.dropFirst(3) + "\n"
      } else if !text.hasPrefix("@") {
        if let match = text.firstMatch(of: declaration) {
          types.append((String(match.output.1), comment))
        }
        comment = ""
      }
    }
    return types
  }

  @Test func `the examples of types are code of tests`() throws {
    let folder = ProjectFolder.url.appending(path: "Tests/DivanTestingTests")
    let tests = try ExampleSources(
      in: ProjectFolder.guides, and: ExampleSources.sources(in: folder))
    var missing: Set<String> = []
    var count = 0
    for path in ["Sources/Divan", "Sources/DivanTesting"] {
      let root = ProjectFolder.url.appending(path: path)
      let files = try #require(FileManager.default.enumerator(atPath: root.path))
      while let name = files.nextObject() as? String {
        guard name.hasSuffix(".swift") else { continue }
        let source = try String(contentsOf: root.appending(path: name), encoding: .utf8)
        for (type, comment) in try comments(ofTypesIn: source) {
          for example in ExampleSources.examples(in: comment) {
            count += 1
            if !tests.contains(example) { missing.insert(type) }
          }
        }
      }
    }
    #expect(missing == TypeExampleTests.untested)
    #expect(count > 120)
  }
}
