import DivanLog
import Foundation
import ProofKit
import Testing

@testable import Divan

/// Tests of the asynchronous twins of calls that may take long.
struct AsyncCallTests {
  private let fileSystem = MemoryFileSystem()

  private var configuration: Configuration {
    var configuration = Configuration()
    configuration.fileSystem = fileSystem
    configuration.purgesExpired = false
    return configuration
  }

  private func filled() throws -> Database {
    let database = try Database(at: "/a.divan", configuration: configuration)
    try database.write { transaction in
      for number in 0..<3000 { _ = try transaction.replace("\(number)", with: ["n": 1]) }
    }
    return database
  }

  @Test func `long calls do their work for asynchronous callers`() async throws {
    let database = try filled()
    let shares = Recorder<Double>()
    try await database.flush()
    try await database.addIndex(DocumentIndex("n", on: "n")) { shares.append($0) }
    #expect(try database.snapshot().count(by: "n") == 3000)
    let report = try await database.check { shares.append($0) }
    #expect(report.isSound && report.documentCount == 3000)
    try await database.backup(to: "/b.divan") { shares.append($0) }
    try await Database.restore(from: "/b.divan", to: "/c.divan", configuration: configuration)
    let restored = try Database(at: "/c.divan", configuration: configuration)
    #expect(try restored.snapshot().count == 3000)
    let migrations = [Migration(id: "1") { _ = try $0.replace("m", with: [:]) }]
    #expect(try await database.migrate(migrations) == ["1"])
    #expect(try await database.migrate(migrations) == [])
    try await database.write { try $0.setExpiry(.distantPast, of: "m") }
    #expect(try await database.purgeExpiredDocuments() == 1)
    try await database.compact()
    #expect(try database.snapshot().count == 3000)
    #expect(shares.all.contains(1) && shares.all.allSatisfy { (0...1).contains($0) })
  }

  @Test func `indexes, named snapshots and closing have asynchronous twins`() async throws {
    let database = try filled()
    let shares = Recorder<Double>()
    try await database.addIndexes(for: Counted.self) { shares.append($0) }
    #expect(try database.indexes().map(\.name) == ["model:Counted.n"] && shares.all.last == 1)
    #expect(try await database.removeIndex(named: "model:Counted.n"))
    #expect(try await !database.removeIndex(named: "model:Counted.n"))
    try await database.saveSnapshot(named: "before")
    try await database.write { _ = try $0.replace("new", with: [:]) }
    #expect(try database.snapshot(named: "before").count == 3000)
    try await database.deleteSnapshot(named: "before")
    #expect(try database.namedSnapshots().isEmpty)
    try await database.close()
    await #expect(throws: DatabaseError.self) { try await database.flush() }
    #expect(try Database(at: "/a.divan", configuration: configuration).snapshot().count == 3001)
  }

  private final class Counted: Model {
    @Persisted(index: .value) var n = 0
  }

  @Test func `an attachment is read for asynchronous callers, whole and in pieces`() async throws {
    let database = try filled()
    let content = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    var document = Document(id: "film", [:])
    document.attachments["trailer"] = Document.Attachment(contentType: "video/mp4", content)
    document.attachments["small"] = Document.Attachment(contentType: "text/plain", [1, 2, 3])
    try await database.write { [document] in _ = try $0.put(document) }
    let stored = try #require(try database.snapshot().document("film"))
    let trailer = try #require(stored.attachments["trailer"])
    #expect(try await [UInt8](trailer.data()) == content)
    #expect(
      try await [UInt8](trailer.data(in: 99_000..<400_000)) == Array(content[99_000..<400_000]))
    for attachment in [trailer, try #require(document.attachments["trailer"])] {
      for range in [nil, 0..<0, 5..<6, 250_000..<750_001, 999_999..<2_000_000] as [Range<Int>?] {
        var bytes: [UInt8] = []
        for try await piece in attachment.asyncPieces(range) {
          #expect(!piece.isEmpty)
          bytes += piece
        }
        #expect(bytes == Array(content[(range ?? 0..<content.count).clamped(to: 0..<1_000_000)]))
      }
    }
    #expect(try await stored.attachments["small"]?.data() == Data([1, 2, 3]))
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      for try await _ in trailer.asyncPieces() {}
    }
    task.cancel()
    await #expect(throws: DatabaseError.self) { try await task.value }
  }

  @Test func `a cancelled task stops long calls, which leave nothing behind`() async throws {
    let database = try filled()
    func code(
      _ work: @escaping @Sendable (@escaping @Sendable (Double) throws -> Void) async throws -> Void
    ) async -> DatabaseError.Code? {
      let task = Task {
        while !Task.isCancelled { await Task.yield() }
        try await work { _ in }
      }
      task.cancel()
      do {
        try await task.value
        return nil
      } catch {
        return (error as? DatabaseError)?.code
      }
    }
    #expect(await code { try await database.backup(to: "/b.divan", progress: $0) } == .cancelled)
    #expect(await code { _ = try await database.check(progress: $0) } == .cancelled)
    let index = DocumentIndex("n", on: "n")
    #expect(await code { try await database.addIndex(index, progress: $0) } == .cancelled)
    #expect(try database.indexes() == [])
    #expect(try fileSystem.list("/") == ["a.divan"])
  }

  @Test func `an error of a progress closure stops the call and comes out of it`() async throws {
    struct Stop: Error {}
    let database = try filled()
    await #expect(throws: Stop.self) { try await database.check { _ in throw Stop() } }
    await #expect(throws: Stop.self) {
      try await database.backup(to: "/b.divan") { _ in throw Stop() }
    }
  }
}
