import Foundation
import Testing

/// Tests that the code in docs/TESTING.md is the code that is compiled and run here.
struct TestingPageTests {
  private let here = URL(filePath: #filePath).deletingLastPathComponent()

  private func lines(_ text: some StringProtocol) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty }
  }

  private func source(_ name: String) throws -> [String] {
    lines(try String(contentsOf: here.appending(path: name), encoding: .utf8))
  }

  @Test func `the code of TESTING.md is the code of these tests`() throws {
    let root = here.deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "docs/TESTING.md"), encoding: .utf8)
    let blocks = page.matches(of: /```swift\n([\s\S]*?)```/).map { lines($0.output.1) }
    let application = try source("Ledger.swift")
    let tests = try source("LedgerTests.swift")
    #expect(blocks.contains(application))
    #expect(blocks.count == 7)
    for block in blocks where block != application {
      #expect(tests.contains(block), "\(block.first ?? "")")
    }
    // The page shows each test of the application.
    for line in tests where line.hasPrefix("@Test") {
      #expect(blocks.contains { $0.contains(line) }, "\(line)")
    }
  }
}
