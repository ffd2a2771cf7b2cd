import Foundation
import Testing

/// Tests of `docs/CALL_PATHS.md`, which follows calls function by function.
struct CallPathTests {
  private let tree = SourceTree()

  /// A row of the page: a function of a type, and the file that it is in.
  private struct Row {
    let section: String
    let number: Int
    let type: String
    let function: String
    let path: String
  }

  private var page: String {
    get throws {
      try String(contentsOf: tree.root.appending(path: "docs/CALL_PATHS.md"), encoding: .utf8)
    }
  }

  private func rows(of page: String) -> [Row] {
    var section = ""
    var rows: [Row] = []
    for line in page.split(separator: "\n") {
      if line.hasPrefix("## ") { section = String(line.dropFirst(3)) }
      guard let match = line.firstMatch(of: /^\| (\d+) \| `(\w+)\.(\w+)` \| `([^`]+)` \|/) else {
        continue
      }
      rows.append(
        Row(
          section: section, number: Int(match.1) ?? 0, type: String(match.2),
          function: String(match.3), path: String(match.4)))
    }
    return rows
  }

  @Test func `each function of a call path is in its file`() throws {
    let files = Dictionary(
      uniqueKeysWithValues: tree.files(in: "Sources").map { ($0.path, $0.code) })
    let rows = rows(of: try page)
    #expect(rows.count > 150)
    for row in rows {
      let code = ["Sources/Divan/", "Sources/DivanLog/"].lazy.compactMap { files[$0 + row.path] }
      guard let code = code.first else {
        Issue.record("\(row.path) of \(row.section), \(row.number) does not exist")
        continue
      }
      let declarations =
        row.function == "init"
        ? ["init(", "init?(", "init<"]
        : ["func \(row.function)(", "func \(row.function)<", "var \(row.function):"]
      let isThere = declarations.contains { code.contains($0) } && code.contains(row.type)
      #expect(isThere, "\(row.type).\(row.function) is not in \(row.path)")
    }
  }

  @Test func `no call path is longer than its limit, and each says how long it is`() throws {
    let page = try page
    let rows = rows(of: page)
    // Of the rows of another path, the page names the first and the last.
    let shared = page.matches(of: /the rows (\d+) to (\d+) of/).compactMap { match in
      Int(match.1).flatMap { first in Int(match.2).map { $0 - first + 1 } }
    }
    #expect(shared.count == 1)
    let stated = page.matches(of: /\| \[[^\]]+\]\(#(\d)-[^)]*\) \| (\d+) \| (\d+) \|/)
    #expect(stated.map { String($0.3) } == ["45", "25", "60", "35", "40"])
    for match in stated {
      let path = rows.filter { $0.section.hasPrefix("\(match.1). ") }
      var count = path.count
      if match.1 == "3" { count += shared.first ?? 0 }
      #expect(count == Int(match.2), "path \(match.1)")
      #expect(count <= Int(match.3) ?? 0, "path \(match.1)")
      #expect(path.last?.number == count, "path \(match.1) is not numbered through")
    }
  }
}
