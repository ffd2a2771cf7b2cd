import Foundation
import Testing

@testable import PlantedBugs

/// Tests of the pages in `docs/` and of the references to them.
struct DocumentedRulesTests {
  private let tree = SourceTree()

  private func page(_ name: String) throws -> String {
    try String(contentsOf: tree.root.appending(path: "docs/\(name)"), encoding: .utf8)
  }

  /// Returns the numbers that follow each occurrence of a text.
  private func numbers(after prefix: String, in text: String) -> Set<Int> {
    Set(
      text.components(separatedBy: prefix).dropFirst().compactMap {
        Int($0.prefix { $0.isASCII && $0.isNumber })
      })
  }

  /// Returns the words behind `class` and the like that begin with a capital letter.
  private func typesNamed(in text: String) -> [String] {
    let keywords: Set = ["class", "struct", "enum", "actor", "protocol"]
    // Bytes are compared much faster than a pattern, and these are all sources.
    let words = Array(text.utf8).split(omittingEmptySubsequences: false) {
      !SourceTree.isPartOfWord($0)
    }
    return zip(words, words.dropFirst()).compactMap { keyword, name in
      guard let first = name.first, first >= UInt8(ascii: "A"), first <= UInt8(ascii: "Z"),
        (4...8).contains(keyword.count), keywords.contains(String(decoding: keyword, as: UTF8.self))
      else { return nil }
      return String(decoding: name, as: UTF8.self)
    }
  }

  /// Returns the pages that a text names: a capital letter, more letters or underscores, `.md`.
  private func pagesNamed(in text: String) -> Set<String> {
    let bytes = Array(text.utf8)
    let ending = Array(".md".utf8)
    var names: Set<String> = []
    for (period, byte) in bytes.enumerated()
    where byte == ending[0] && bytes[period...].starts(with: ending) {
      let letters = bytes[..<period].reversed().prefix { byte in
        byte == UInt8(ascii: "_")
          || byte | 32 >= UInt8(ascii: "a") && byte | 32 <= UInt8(ascii: "z")
      }
      let name = letters.reversed().drop { $0 < UInt8(ascii: "A") || $0 > UInt8(ascii: "Z") }
      if name.count > 1 { names.insert(String(decoding: name + ending, as: UTF8.self)) }
    }
    return names
  }

  @Test func `each recovery rule has a test case and a planted bug`()
    throws
  {
    let documented = numbers(after: "**Rule ", in: try page("RECOVERY.md"))
    #expect(documented == Set(1...24))
    let cases = tree.files(in: "Tests/ProofKit/Rules").reduce(into: Set<Int>()) {
      $0.formUnion(numbers(after: "\"rule ", in: $1.text))
    }
    #expect(cases == documented)
    let broken = PlantedBug.all.flatMap { bug in
      bug.rule.split { !$0.isNumber }.compactMap { Int($0) }
    }
    #expect(documented.subtracting(broken).isEmpty, "no planted bug breaks these rules")
  }

  @Test func `the glossary has each term once and names existing types`() throws {
    let rows = try page("GLOSSARY.md").split(separator: "\n").compactMap { line -> [String]? in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      return cells.count == 3 && cells[0] != "term" && !cells[0].hasPrefix("-") ? cells : nil
    }
    #expect(rows.count > 55)
    #expect(Set(rows.map { $0[0] }).count == rows.count, "a term is explained twice")
    let types = Set(
      (tree.files(in: "Sources") + tree.files(in: "Tests")).flatMap { typesNamed(in: $0.text) })
    for row in rows {
      for match in row[2].matches(of: /`(\w+)`/) {
        #expect(types.contains(String(match.output.1)), "\(row[0]): \(match.output.1)")
      }
    }
  }

  @Test func `sources and tests refer only to existing pages`() throws {
    var names = Set(
      try FileManager.default.contentsOfDirectory(atPath: tree.root.path)
        + FileManager.default.contentsOfDirectory(atPath: tree.root.appending(path: "docs").path))
    names.formUnion(
      tree.files(in: "Sources", extensions: ["md"]).map {
        String($0.path.split(separator: "/").last ?? "")
      })
    names.formUnion(["Benchmarks/README.md"])
    for folder in ["Sources", "Tests", "Benchmarks", "Examples", "Integrations"] {
      for file in tree.files(in: folder) {
        for name in pagesNamed(in: file.text) where !names.contains(name) {
          Issue.record("\(file.path) refers to \(name)")
        }
      }
    }
    let page = "README.md"
    #expect(pagesNamed(in: "See docs/\(page), x\(page).") == [page])
    #expect(pagesNamed(in: ".md b.md A.md A_\(page), 1.md") == ["A_\(page)"])
  }

  @Test func `links between pages have existing targets and anchors`() throws {
    let pages =
      tree.files(in: "docs", extensions: ["md"])
      + ["README.md", "CHANGELOG.md"].compactMap { name in
        let text = try? String(contentsOf: tree.root.appending(path: name), encoding: .utf8)
        return text.map { SourceTree.File(path: name, text: $0) }
      }
    var linkCount = 0
    for page in pages {
      let folder = URL(filePath: page.path, relativeTo: tree.root).deletingLastPathComponent()
      for match in page.text.matches(of: /\]\(([^)\s]+)\)/) {
        let target = String(match.output.1)
        guard !target.contains("://"), !target.hasPrefix("mailto:") else { continue }
        linkCount += 1
        let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let file =
          parts[0].isEmpty
          ? tree.root.appending(path: page.path)
          : URL(filePath: String(parts[0]), relativeTo: folder)
        #expect(
          FileManager.default.fileExists(atPath: file.path), "\(page.path) links to \(target)")
        guard parts.count > 1, file.pathExtension == "md",
          let text = try? String(contentsOf: file, encoding: .utf8)
        else { continue }
        #expect(anchors(in: text).contains(String(parts[1])), "\(page.path) links to \(target)")
      }
    }
    #expect(linkCount > 20)
  }

  /// The anchors of a page's headings, as GitHub makes them.
  private func anchors(in text: String) -> Set<String> {
    Set(
      text.split(separator: "\n").filter { $0.hasPrefix("#") }.map { line in
        String(
          line.drop { $0 == "#" }.drop { $0 == " " }.lowercased().compactMap { letter in
            if letter == " " { return "-" }
            return letter.isLetter || letter.isNumber || letter == "-" || letter == "_"
              ? letter : nil
          })
      })
  }
}
