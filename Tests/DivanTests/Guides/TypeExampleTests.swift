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

  @Test func `the examples of types are code of tests`() throws {
    let folder = ProjectFolder.url.appending(path: "Tests/DivanTestingTests")
    let tests = try ExampleSources(
      in: ProjectFolder.guides, and: ExampleSources.sources(in: folder))
    var missing: Set<String> = []
    var count = 0
    for path in ["Sources/Divan", "Sources/DivanTesting"] {
      for (type, comment) in try ExampleSources.typeComments(in: path) {
        for example in ExampleSources.examples(in: comment) {
          count += 1
          if !tests.contains(example) { missing.insert(type) }
        }
      }
    }
    #expect(missing == TypeExampleTests.untested)
    #expect(count > 120)
  }
}
