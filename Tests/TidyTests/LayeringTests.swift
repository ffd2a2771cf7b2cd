import Foundation
import Testing

/// The arrows between folders of one target, which the compiler does not keep.
///
/// ``table`` is the rule, and `docs/LAYERS.md` shows it. A folder uses only what is below it: the
/// types that files declare there, and the members that extensions there add to types further down.
struct LayeringTests {
  /// A folder with inner folders, which are layers too.
  struct Group {
    /// Its path in the target.
    let name: String
    /// The groups of the target whose types and members it may use.
    let uses: [String]
    /// Its inner folders from the bottom up; each may use those before it.
    ///
    /// An empty name is the
    /// folder itself. Nil if they are not ordered.
    var layers: [String]? = [""]
  }

  /// A type or member that a file uses although it is above the file's folder.
  struct Exception {
    let file: String
    let names: Set<String>
    let reason: String
  }

  /// The groups of each target, from the bottom up.
  static let table: [(target: String, groups: [Group])] = [
    (
      "DivanLog",
      [
        Group(name: "Bytes", uses: []), Group(name: "File", uses: ["Bytes"]),
        Group(name: "Encryption", uses: ["Bytes"]),
        Group(name: "Format", uses: ["Bytes", "Encryption"]),
        Group(name: "Log", uses: ["Bytes", "File", "Encryption", "Format"]),
      ]
    ),
    (
      "Divan",
      [
        Group(name: "Errors", uses: []), Group(name: "Collections", uses: []),
        Group(
          name: "Document", uses: ["Errors", "Collections"],
          layers: ["Value", "JSON", "Collation", "Revisions", "", "Codable"]),
        Group(
          name: "FullText", uses: ["Errors", "Collections"],
          layers: [
            "Unicode", "Stemming", "Analysis", "QueryLanguage", "Postings", "Terms", "Matching",
            "Ranking",
          ]),
        Group(name: "BTree", uses: ["Errors"]),
        Group(
          name: "Store", uses: ["Errors", "Collections", "Document", "FullText", "BTree"],
          layers: [
            "Monitoring", "Keys", "Indexes/Definition", "Records", "Indexes/FullText", "Engine",
            "Reading",
            "Indexes/Kinds", "Writing", "Indexes/Upkeep", "Indexes/Reading", "Indexes/Search",
            "History", "Recovery",
            "Attachments",
            "Maintenance", "Sharing", "",
            "Changes",
            "Indexes/Build", "Inspection", "Transfer",
          ]),
        Group(
          name: "Query", uses: ["Errors", "Collections", "Document", "FullText", "Store"],
          layers: [
            "Predicate", "KeyPaths", "Builder", "Translation", "Planner", "PredicateCache",
            "Execution", "Interface", "Live",
          ]),
        Group(name: "Views", uses: ["Errors", "Collections", "Document", "Store"]),
        Group(
          name: "Model",
          uses: ["Errors", "Collections", "Document", "FullText", "Store", "Query", "Views"],
          layers: nil),
        Group(name: "SwiftUI", uses: ["Errors", "Query", "Store", "Model"]),
      ]
    ),
    (
      "DivanSync",
      [
        Group(name: "Concurrency", uses: []), Group(name: "Digests", uses: []),
        Group(name: "Errors", uses: []), Group(name: "HTTP", uses: ["Errors"]),
        Group(name: "Revisions", uses: ["Errors"]), Group(name: "Checkpoints", uses: []),
        Group(name: "Filters", uses: ["Errors", "Revisions"], layers: ["Selector", ""]),
        Group(
          name: "Peers", uses: ["Digests", "Errors", "Revisions", "Checkpoints", "Filters"]),
        Group(
          name: "CouchDBClient",
          uses: ["Concurrency", "Errors", "HTTP", "Revisions", "Checkpoints", "Filters", "Peers"]),
        Group(
          name: "Replicator",
          uses: ["Concurrency", "Errors", "Revisions", "Checkpoints", "Filters", "Peers"]),
        Group(
          name: "CouchDBService",
          uses: [
            "Concurrency", "Digests", "Errors", "HTTP", "Revisions", "Filters", "Peers",
            "CouchDBClient",
          ]),
      ]
    ),
  ]

  /// The folders whose inner layers are not ordered, and why.
  static let unordered = [
    "Divan/Model":
      "models, their properties and their context refer to each other: one graph of objects"
  ]

  static let exceptions = [
    Exception(
      file: "DivanLog/Encryption/*", names: ["LogError", "Damage"],
      reason:
        "the head of an attachment that is damaged or has an unknown key is an error of the log"),
    Exception(
      file: "DivanLog/Format/*", names: ["LogError", "Damage"],
      reason: "the errors of the log name calls of the file system"),
    Exception(
      file: "Divan/Document/DocumentID.swift", names: ["MetadataProperty"],
      reason: "the wrapper of an ID is coded like the other metadata properties"),
    Exception(
      file: "Divan/Store/Engine/Store.swift",
      names: [
        "WriteTransaction", "Validation", "Maintenance", "OpenedStore", "checkUniqueness",
        "noteCommitPoint",
      ],
      reason: "the engine runs a transaction from the lock to the flush"),
    Exception(
      file: "Divan/Store/Engine/Checkpoint.swift", names: ["readIndexes"],
      reason: "a checkpoint is usable only if its indexes can be read"),
    Exception(
      file: "Divan/Store/Reading/*", names: ["Database", "WriteTransaction", "repairIndex"],
      reason: "a read view keeps its database open, sees unwritten changes, and repairs pages"),
    Exception(
      file: "Divan/Store/Attachments/*", names: ["Database", "Maintenance"],
      reason: "a missing attachment is explained by the store as it is now; passes collect garbage"),
  ]

  @Test func `folders use only what is below them`() {
    let tree = SourceTree()
    for (target, groups) in LayeringTests.table {
      let layering = Layering(target, groups, in: tree)
      #expect(layering.typeCount > 60, "the search finds no types any more")
      #expect(layering.unknownFolders.isEmpty, "\(layering.unknownFolders)")
      let (violations, used) = layering.violations()
      #expect(violations.isEmpty, "\(violations.sorted().joined(separator: "\n"))")
      for exception in LayeringTests.exceptions where exception.file.hasPrefix(target + "/") {
        let unused = exception.names.filter { name in
          !used.contains { $0.name == name && $0.exception == exception.file }
        }
        #expect(unused.isEmpty, "\(exception.file) has no need of \(unused.sorted())")
      }
    }
  }

  /// Types whose members are in many files, each named for its type and its aspect.
  static let mainTypes = [
    "Database", "Snapshot", "WriteTransaction", "ReadView", "Store", "Version", "Maintenance",
    "BTree", "LayeredTree", "Model", "ModelContext", "ModelContextCore", "QueryExecution",
  ]

  @Test func `an extension of a main type is in a file that is named for it`() throws {
    // A conformance without members says nothing that one would look for; and the one file that
    // binds wrappers has its unsafe code in one place.
    let exempt = ["Sources/Divan/Model/Schema/ModelBinding.swift"]
    for file in SourceTree().files(in: "Sources/Divan") where !exempt.contains(file.path) {
      let name = file.path.split(separator: "/").last.map(String.init) ?? ""
      // Patterns are slow, and extensions begin their lines.
      for line in file.code.utf8.split(separator: UInt8(ascii: "\n"))
      where line.first == UInt8(ascii: "e") || line.first == UInt8(ascii: "p") {
        let line = Substring(line)
        guard let match = line.prefixMatch(of: /(?:public |package )?extension (\w+)[^.\w]/)
        else { continue }
        let type = String(match.output.1)
        guard LayeringTests.mainTypes.contains(type), !line.hasSuffix("{}") else { continue }
        #expect(
          name == type + ".swift" || name.hasPrefix(type + "+"),
          "\(file.path) extends \(type); put it into \(type)+Aspect.swift")
      }
    }
  }

  @Test func `the page of layers shows the table`() throws {
    let page = try #require(
      SourceTree().files(in: "docs", extensions: ["md"]).first { $0.path == "docs/LAYERS.md" })
    var lines: [String] = []
    for (target, groups) in LayeringTests.table {
      lines.append("\(target)")
      for group in groups.reversed() {
        let uses = group.uses.isEmpty ? "nothing" : group.uses.joined(separator: ", ")
        lines.append("  \(group.name.padded(to: 16))uses \(uses)")
        guard let layers = group.layers, layers.count > 1 else { continue }
        for layer in layers.reversed() {
          lines.append("    \(layer.isEmpty ? "(\(group.name) itself)" : layer)")
        }
      }
      lines.append("")
    }
    let drawing = lines.joined(separator: "\n")
    #expect(page.text.contains("```text\n\(drawing)```"), "the drawing should be:\n\(drawing)")
    for exception in LayeringTests.exceptions {
      let row =
        "| `\(exception.file)` | \(exception.names.sorted().map { "`\($0)`" }.joined(separator: ", ")) | \(exception.reason) |"
      #expect(page.text.contains(row), "the page lacks:\n\(row)")
    }
    for (folder, reason) in LayeringTests.unordered {
      #expect(page.text.contains("`\(folder)`: \(reason)"), "the page lacks \(folder)")
    }
  }

  @Test func `the log does not import Divan, and only the file system imports a C library`() {
    let tree = SourceTree()
    for file in ["Sources", "Benchmarks", "Examples"].flatMap({ tree.files(in: $0) })
    where !file.path.contains("Benchmarks/Peers") {
      let importsC = ["Glibc", "Darwin", "Musl"].contains { file.imports($0) }
      let mayImportC = file.path.hasPrefix("Sources/DivanLog/File/POSIX")
      #expect(!importsC || mayImportC, "\(file.path) imports a C library")
    }
    for file in tree.files(in: "Sources/DivanLog") {
      #expect(!file.imports("Divan"), "\(file.path)")
    }
    // An example shows what a program outside of this package can do.
    let examples = tree.files(in: "Examples")
    #expect(!examples.isEmpty)
    for file in examples {
      #expect(!file.imports("DivanLog"), "\(file.path)")
      #expect(!SourceTree.words(in: file.code).contains("package"), "\(file.path)")
    }
  }

  @Test func `unsafe code occurs only in the permitted files`() {
    let places = [
      "Sources/DivanLog/Bytes/", "Sources/DivanLog/File/", "Sources/Divan/BTree/Node",
      "Sources/Divan/BTree/MappedPages",
      "Sources/Divan/BTree/Page", "Sources/Divan/BTree/BTree", "Sources/Divan/BTree/Run",
      "Sources/Divan/Model/Schema/ModelBinding", "Sources/Divan/Model/Properties/Persisted",
      // One word each, where Swift has no other way to say what is meant; the reason stands there.
      "Sources/Divan/Store/Database.swift", "Sources/Divan/Store/Reading/ReadView.swift",
      // A file system itself, whose protocol lends memory.
      "Sources/DivanTesting/SimulatedFile.swift", "Sources/DivanTesting/SimulatedDamage.swift",
      // Calls of the system that Foundation does not have: for a terminal, limits, and replacing
      // files.
      "Integrations/Server/Sources/ServerKit/PasswordPrompt.swift",
      "Integrations/Server/Sources/ServerKit/OpenFileLimit.swift",
      "Integrations/Server/Sources/ServerKit/UsersFile.swift",
    ]
    let tree = SourceTree()
    for folder in ["Sources", "Benchmarks", "Examples", "Integrations/Server/Sources"] {
      for file in tree.files(in: folder) where !file.path.contains("Benchmarks/Peers") {
        guard !places.contains(where: { file.path.hasPrefix($0) }) else { continue }
        let word = SourceTree.words(in: file.code).first {
          $0 == "unsafe" || $0.hasPrefix("Unsafe") && $0.hasSuffix("Pointer")
        }
        #expect(word == nil, "\(file.path)")
      }
    }
  }

  @Test func `no file contains a mark of unfinished work`() {
    let tree = SourceTree()
    for folder in ["Sources", "Benchmarks", "Examples", "Integrations", "Tests"] {
      for file in tree.files(in: folder) where !file.path.contains("TidyTests") {
        let words = SourceTree.words(in: file.text).intersection(["TODO", "FIXME", "XXX"])
        #expect(words.isEmpty, "\(file.path)")
      }
    }
  }

  @Test func `a comment is as wide as code at most`() {
    let tree = SourceTree()
    for folder in ["Sources", "Benchmarks", "Examples", "Integrations", "Tests"] {
      for file in tree.files(in: folder) {
        for (index, line) in file.text.split(separator: "\n", omittingEmptySubsequences: false)
          .enumerated() where line.utf8.count > 100
        {
          // The formatter breaks code, and not comments.
          let isComment = line.drop { $0 == " " }.hasPrefix("//")
          #expect(!isComment || line.count <= 100, "\(file.path):\(index + 1)")
        }
      }
    }
  }

  @Test func `every relative link in the project's pages leads to an existing file`() {
    let tree = SourceTree()
    let pages =
      tree.files(in: "docs", extensions: ["md"]) + tree.files(in: "Examples", extensions: ["md"])
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
