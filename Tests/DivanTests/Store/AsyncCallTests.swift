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
