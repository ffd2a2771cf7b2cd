import Foundation
import Testing

/// Tests of the dependencies between folders of one target, which the compiler does not check.
struct LayeringTests {
  /// Each folder, and the folders of its target that it may use.
  ///
  /// This table is the rule.
  static let allowed: [String: Set<String>] = [
    "Sources/DivanLog/Bytes": [],
    "Sources/DivanLog/File": ["Sources/DivanLog/Bytes"],
    "Sources/DivanLog/Format": ["Sources/DivanLog/Bytes", "Sources/DivanLog/Log/LogError.swift"],
    "Sources/DivanLog/Log": [
      "Sources/DivanLog/Bytes", "Sources/DivanLog/File", "Sources/DivanLog/Format",
    ],
    "Sources/Divan/Errors": [],
    "Sources/Divan/Collections": [],
    "Sources/Divan/Document": ["Sources/Divan/Errors"],
    "Sources/Divan/BTree": ["Sources/Divan/Errors"],
    "Sources/Divan/Store": [
      "Sources/Divan/Errors", "Sources/Divan/Document", "Sources/Divan/BTree",
    ],
    "Sources/Divan/Query": [
      "Sources/Divan/Errors", "Sources/Divan/Document", "Sources/Divan/Store",
      "Sources/Divan/Collections",
    ],
    "Sources/Divan/Views": [
      "Sources/Divan/Errors", "Sources/Divan/Document", "Sources/Divan/Store",
      "Sources/Divan/Collections",
    ],
    "Sources/Divan/Model": [
      "Sources/Divan/Errors", "Sources/Divan/Document", "Sources/Divan/Store",
      "Sources/Divan/Collections", "Sources/Divan/Query", "Sources/Divan/Views",
    ],
  ]

  /// The names of types that a file declares for others.
  private static func declaredTypes(_ file: SourceTree.File) -> Set<String> {
    let pattern =
      /^(?:@\w+ )?(?:(?:public|package|internal|open|final|nonisolated|indirect) )*(?:struct|class|enum|protocol|actor|typealias) (\w+)/
    var names: Set<String> = []
    // Regular expressions are slow, and types that other files can use begin their lines.
    for line in file.code.utf8.split(separator: UInt8(ascii: "\n"))
    where line.first != UInt8(ascii: " ") {
      if let match = Substring(line).firstMatch(of: pattern) {
        names.insert(String(match.output.1))
      }
    }
    return names
  }

  @Test func `folders use only types of the layers below them`() {
    let tree = SourceTree()
    var declared: [String: Set<String>] = [:]
    for folder in LayeringTests.allowed.keys {
      declared[folder] = tree.files(in: folder).reduce(into: []) {
        $0.formUnion(LayeringTests.declaredTypes($1))
      }
    }
    var violations: [String] = []
    for (folder, allowed) in LayeringTests.allowed {
      let target = folder.split(separator: "/").prefix(2).joined(separator: "/")
      let own = declared[folder] ?? []
      var forbidden: [String: String] = [:]
      for (other, names) in declared
      where other != folder && !allowed.contains(other) && other.hasPrefix(target + "/") {
        for name in names.subtracting(own) { forbidden[name] = other }
      }
      // A file in the table may be used even if its folder may not.
      for path in allowed where path.hasSuffix(".swift") {
        let parts = path.split(separator: "/")
        let files = tree.files(in: parts.dropLast().joined(separator: "/"))
        for file in files where file.path == path {
          for name in LayeringTests.declaredTypes(file) { forbidden[name] = nil }
        }
      }
      for file in tree.files(in: folder) {
        for word in SourceTree.words(in: file.code) {
          if let home = forbidden[word] {
            violations.append("\(file.path) uses \(word) of \(home)")
          }
        }
      }
    }
    #expect(violations.isEmpty, "\(violations.sorted().joined(separator: "\n"))")
    #expect(
      declared.values.reduce(0) { $0 + $1.count } > 60, "the search no longer finds the types")
  }

  @Test func `the log does not import Divan, and only the file system imports a C library`() {
    let tree = SourceTree()
    for file in tree.files(in: "Sources") + tree.files(in: "Benchmarks")
    where !file.path.contains("Peers") {
      let importsC = ["Glibc", "Darwin", "Musl"].contains { file.imports($0) }
      let mayImportC = file.path.hasPrefix("Sources/DivanLog/File/POSIX")
      #expect(!importsC || mayImportC, "\(file.path) imports a C library")
    }
    for file in tree.files(in: "Sources/DivanLog") {
      #expect(!file.imports("Divan"), "\(file.path)")
    }
  }

  @Test func `unsafe code occurs only in the permitted files`() {
    let permitted = [
      "Sources/DivanLog/Bytes/", "Sources/DivanLog/File/", "Sources/Divan/BTree/Node",
      "Sources/Divan/BTree/Page", "Sources/Divan/Index/BTree", "Sources/Divan/Index/Run",
      "Sources/Divan/Model/Schema/ModelBinding", "Sources/Divan/Model/Properties/Persisted",
      // One word each, where Swift has no safe alternative; a comment there gives the reason.
      "Sources/Divan/Store/Database.swift", "Sources/Divan/Store/Reading/ReadView.swift",
      // A file system, whose protocol passes borrowed memory.
      "Sources/DivanTesting/SimulatedFile.swift", "Sources/DivanTesting/SimulatedDamage.swift",
    ]
    let tree = SourceTree()
    for folder in ["Sources", "Benchmarks"] {
      for file in tree.files(in: folder) where !file.path.contains("Peers") {
        guard !permitted.contains(where: { file.path.hasPrefix($0) }) else { continue }
        let word = SourceTree.words(in: file.code).first {
          $0 == "unsafe" || $0.hasPrefix("Unsafe") && $0.hasSuffix("Pointer")
        }
        #expect(word == nil, "\(file.path)")
      }
    }
  }

  @Test func `no file contains TODO, FIXME or XXX`() {
    let tree = SourceTree()
    for folder in ["Sources", "Benchmarks", "Tests"] {
      for file in tree.files(in: folder) where !file.path.contains("TidyTests") {
        let words = SourceTree.words(in: file.text).intersection(["TODO", "FIXME", "XXX"])
        #expect(words.isEmpty, "\(file.path)")
      }
    }
  }

  @Test func `every relative link in the project's pages leads to an existing file`() {
    let tree = SourceTree()
    let pages =
      tree.files(in: "docs", extensions: ["md"])
      + tree.files(in: ".", extensions: ["md"]).filter { $0.path.split(separator: "/").count == 2 }
    #expect(!pages.isEmpty)
    for page in pages {
      for match in page.text.matches(of: /\]\(([^)#:\s]+)(#[^)]*)?\)/) {
        let target = String(match.output.1)
        let folder = page.path.split(separator: "/").dropLast().joined(separator: "/")
        let url = tree.root.appending(path: folder).appending(path: target).standardizedFileURL
        #expect((try? url.checkResourceIsReachable()) == true, "\(page.path) links to \(target)")
      }
    }
  }
}
