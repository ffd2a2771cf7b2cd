import DivanLog
import DivanTesting
import Foundation

import Divan

/// Files of other programs are not changed, and a writer that lost the lock writes nothing.
///
/// These use the file system of the machine, because a simulated one has no links.
extension RuleCase {
  static let ownership: [RuleCase] = [
    RuleCase(
      name: "ownership: another program's directory is neither opened as a store nor deleted"
    ) {
      for names in [
        ["tmp/HEAD", "main.swift"], ["HEAD", "objects/aa"], ["LOCK", "tmp/0000000001.segment"],
        ["RESERVE", "attachments/3f/3f"],
      ] {
        let yard = try Yard()
        for name in names { try yard.write("others: \(name)", to: "project/" + name) }
        let before = try yard.tree()
        try yard.expectRefused { try Database(at: yard.path("project")).close() }
        try yard.expectTree(before, "opening \(names)")
        try yard.expectRefused { try Database.delete(at: yard.path("project")) }
        try yard.expectTree(before, "deleting \(names)")
      }
    },
    RuleCase(name: "ownership: other programs' files in a store survive opening and deletion") {
      let yard = try Yard()
      try yard.makeStore()
      let names = ["attachments/3f/letter", "letter", "tmp/attachment-0", "tmp/HEAD/x"]
      for name in names { try yard.write("others", to: "store/" + name) }
      try yard.write("half", to: "store/tmp/attachment-1")
      try Database(at: yard.path("store")).close()
      let left = try Database.delete(at: yard.path("store"))
      try expect(
        left.sorted() == ["attachments/3f/letter", "letter", "tmp/HEAD", "tmp/attachment-0"],
        "\(left)")
      let files = try yard.tree().filter { !$0.hasSuffix("/") }
      try expect(files == names.map { "store/\($0): others" }.sorted(), "\(files)")
    },
    RuleCase(name: "ownership: a link named LOCK is not written through") {
      for isHard in [false, true] {
        for content in ["", "a letter"] {
          let yard = try Yard()
          try yard.makeStore()
          try yard.remove("store/LOCK")
          try yard.write(content, to: "precious")
          try yard.link("store/LOCK", to: "precious", isHard: isHard)
          let before = try yard.tree()
          try yard.expectRefused { try Database(at: yard.path("store")).close() }
          try yard.expectRefused { try Database.delete(at: yard.path("store")) }
          try yard.expectTree(before, "a link")
        }
      }
    },
    RuleCase(name: "ownership: a link named like a store's folder is not followed") {
      for name in ["tmp", "attachments", "attachments/3f"] {
        let yard = try Yard()
        try yard.makeStore()
        try yard.write("others", to: "work/HEAD")
        try yard.write("others", to: "work/3f" + String(repeating: "9a", count: 31))
        try? yard.remove("store/" + name)
        try yard.link("store/" + name, to: "work", isHard: false)
        let before = try yard.tree()
        try yard.expectRefused { try Database(at: yard.path("store")).close() }
        try yard.expectTree(before, "a link at \(name)")
        let left = try Database.delete(at: yard.path("store"))
        try expect(left.contains(name), "\(left)")
        try expect(
          try yard.tree().filter { $0.hasPrefix("work") } == before.filter { $0.hasPrefix("work") },
          "the deletion followed a link at \(name)")
      }
    },
    RuleCase(name: "ownership: a backup neither replaces a file nor goes into a store") {
      let yard = try Yard()
      try yard.makeStore()
      try yard.makeStore("other")
      try yard.write("process 1", to: "other/LOCK")
      try yard.write("others", to: "taken/letter")
      try yard.link("dangling", to: "nothing", isHard: false)
      try yard.link("alias", to: "store", isHard: false)
      let database = try Database(at: yard.path("store"))
      let before = try yard.tree()
      for name in [
        "taken", "dangling", "store", "store/x", "store/tmp/x", "alias/x", "other/x", "other/tmp/x",
      ] {
        do {
          try database.backup(to: yard.path(name))
          throw CrashOracle.Mismatch("a backup was made at \(name)")
        } catch let error as DatabaseError {
          try expect(error.code == .alreadyExists, "\(name): \(error)")
        }
        try yard.expectTree(before, "a backup to \(name)")
      }
      try database.close()
    },
    RuleCase(name: "ownership: a backup is not built under a name that another program uses") {
      let yard = try Yard()
      try yard.makeStore()
      try yard.makeStore("b.building")
      try yard.write("others", to: "work/HEAD")
      let database = try Database(at: yard.path("store"))
      guard let first = UInt64(database.storeID.prefix(16), radix: 16) else {
        throw CrashOracle.Mismatch("no ID: \(database.storeID)")
      }
      // The names that it tries first.
      for number in (0..<8).map({ first &+ $0 }) {
        let digits = String(number, radix: 16)
        let name = "b." + String(repeating: "0", count: 16 - digits.count) + digits + ".building"
        if number % 2 == 0 {
          try yard.link(name, to: "work", isHard: false)
        } else {
          try yard.write("others", to: name + "/HEAD")
        }
      }
      let before = try yard.tree()
      try database.backup(to: yard.path("b"))
      try database.close()
      try Database.delete(at: yard.path("b"))
      func others(_ tree: [String]) -> [String] { tree.filter { !$0.hasPrefix("store/") } }
      let after = try yard.tree()
      try expect(others(after) == others(before), "\(after)")
    },
    RuleCase(name: "ownership: a writer whose LOCK is gone acknowledges nothing") {
      for durability in [Durability.full, .none, .relaxed(maxDelay: .seconds(60))] {
        for isReplaced in [false, true] {
          let yard = try Yard()
          let first = try Database(at: yard.path("store"))
          try first.write { _ = try $0.replace("a", with: ["n": 1]) }
          try yard.remove("store/LOCK")
          let second = isReplaced ? try Database(at: yard.path("store")) : nil
          do {
            try first.write(durability: durability) { _ = try $0.replace("b", with: [:]) }
            throw CrashOracle.Mismatch("\(durability): acknowledged without the lock")
          } catch let error as DatabaseError {
            try expect(error.code == .outcomeUnknown, "\(error)")
          }
          try expect(try !first.snapshot().exists("b"), "it can be read")
          try? first.close()
          try second?.write { _ = try $0.replace("c", with: [:]) }
          try second?.close()
          let again = try Database(at: yard.path("store"))
          if let damage = again.openingReport.damage.first { throw damage }
          try expect(
            try again.snapshot().document("a")?["n"] == 1, "an acknowledged commit is lost")
          try expect(
            try again.snapshot().exists("c") == isReplaced, "the second one lost something")
          if let problem = try again.check().problems.first { throw problem }
          try again.close()
        }
      }
    },
    RuleCase(name: "rule 15: a store can be read where no file can be created") {
      for code in [SystemError.Code.noSpace, .quotaExceeded] {
        let fixture = CrashFixture.fresh()
        let database = try fixture.openQuiet()
        try fixture.fill(database, 0..<4)
        try database.close()
        fixture.fileSystem.fail(.lock, with: code, isLasting: true)
        let opened = try fixture.openQuiet()
        try fixture.expectNewest(opened)
        try opened.close()
      }
    },
    RuleCase(name: "rule 8: running out of file descriptors fails one commit and no later one") {
      for call in 1...8 {
        let fixture = CrashFixture.fresh()
        let database = try fixture.openQuiet()
        try fixture.commit(database, [.put("a", size: 10)])
        let before = try database.snapshot().count
        fixture.fileSystem.fail(
          .flushDirectory, atCall: call, with: .tooManyOpenFiles, completion: .nothing)
        var acknowledged: [String] = []
        var failures: [DatabaseError] = []
        // Several segments, each of which needs a flush of the directory.
        for number in 0..<12 {
          do {
            try database.write { transaction in
              let text = Value.string(String(repeating: "x", count: 30_000))
              try transaction.replace("b-\(number)", with: ["text": text])
            }
            acknowledged.append("b-\(number)")
          } catch let error as DatabaseError {
            failures.append(error)
          }
        }
        try expect(failures.count <= 1, "\(call): \(failures)")
        try expect(failures.allSatisfy { $0.code == .resourceExhausted }, "\(failures)")
        let left = CrashFixture(
          fixture.fileSystem.restarted(.strict), CrashWriter(seed: 0), life: 90)
        let later = try left.openQuiet()
        for id in acknowledged { try expect(try later.snapshot().exists(id), "\(call): \(id)") }
        let count = try later.snapshot().count - before
        try expect(count == acknowledged.count, "\(call): \(count), of \(acknowledged)")
      }
    },
  ]
}

/// A directory with a store and with files of other programs.
private struct Yard {
  private let directory: ScratchDirectory
  private var files: FileManager { .default }

  init() throws { directory = try ScratchDirectory() }

  func path(_ name: String) -> String { directory.path + "/" + name }

  func write(_ text: String, to name: String) throws {
    try files.createDirectory(
      atPath: URL(filePath: path(name)).deletingLastPathComponent().path,
      withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(filePath: path(name)))
  }

  func remove(_ name: String) throws { try files.removeItem(atPath: path(name)) }

  func link(_ name: String, to target: String, isHard: Bool) throws {
    if isHard {
      try files.linkItem(atPath: path(target), toPath: path(name))
    } else {
      try files.createSymbolicLink(atPath: path(name), withDestinationPath: path(target))
    }
  }

  /// Creates a closed store, with an attachment in a file of its own.
  func makeStore(_ name: String = "store") throws {
    let database = try Database(at: path(name))
    try database.write { transaction in
      var document = Document(id: "a", ["n": 1])
      document.attachments["x"] = Document.Attachment(
        contentType: "x/y", [UInt8](repeating: 7, count: 200_000))
      try transaction.put(document)
    }
    try database.close()
  }

  /// Returns all files with their contents; links are not followed.
  func tree() throws -> [String] {
    try files.subpathsOfDirectory(atPath: directory.path).map { entry in
      switch try files.attributesOfItem(atPath: path(entry))[.type] as? FileAttributeType {
      case .typeSymbolicLink?:
        return "\(entry) -> \(try files.destinationOfSymbolicLink(atPath: path(entry)))"
      case .typeDirectory?: return entry + "/"
      default:
        let content = files.contents(atPath: path(entry)) ?? Data()
        let text = String(data: content, encoding: .utf8)
        return "\(entry): \(text ?? content.base64EncodedString())"
      }
    }.sorted()
  }

  func expectTree(_ before: [String], _ what: String) throws {
    let now = try tree()
    let changed = Set(now).symmetricDifference(before).map { $0.prefix(100) }.sorted()
    try expect(now == before, "\(what) has changed \(changed)")
  }

  func expectRefused(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as DatabaseError {
      return try expect(error.code == .notAStore, "\(error)")
    }
    throw CrashOracle.Mismatch("another program's directory was not refused")
  }
}
