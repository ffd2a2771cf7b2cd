import DivanLog
import DivanTesting
import Foundation
import ProofKit
import Synchronization
import TestSupport
import Testing

@testable import Divan

/// Pages of the index that cannot be read just now, one after the other: what is asked for is not done, not
/// even by half, and can be done a moment later.
struct IndexFaultTests {
  struct Work: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let perform: @Sendable (WriteTransaction) throws -> Void

    init(_ name: String, _ perform: @escaping @Sendable (WriteTransaction) throws -> Void) {
      testDescription = name
      self.perform = perform
    }
  }

  static let work = [
    Work("attach something new") {
      var document = Document(id: "new")
      document.attachments["note"] = Document.Attachment(contentType: "x/y", [9, 9, 9])
      try $0.put(document)
    },
    Work("attach something that is there") {
      var document = Document(id: "new")
      document.attachments = try #require(try $0.get("doc-115")).attachments
      try $0.put(document)
    },
    Work("update one with attachments") {
      try $0.update("doc-120") { $0["n"] = 99 }
    },
    Work("overwrite") { try $0.overwrite("doc-130", with: ["n": 99]) },
    Work("put several") {
      try $0.put(contentsOf: ["doc-100a", "doc-150a", "doc-190a"].map { Document(id: $0) })
    },
    Work("begin a branch") {
      try $0.insert(Document(id: "doc-140"), history: [RevisionID(parsing: "1-other")])
    },
    Work("go on with a branch") {
      try $0.insert(
        Document(id: "doc-105"),
        history: [RevisionID(parsing: "2-more"), RevisionID(parsing: "1-branch")])
    },
    Work("end all branches") { try $0.delete(id: "doc-135") },
    Work("purge") { try $0.purge("doc-145") },
    Work("purge a branch") {
      try $0.purge("doc-165", revision: RevisionID(parsing: "1-branch"))
    },
    Work("expire") { try $0.setExpiry(Date(timeIntervalSince1970: 5e9), of: "doc-150") },
    Work("expire no more") { try $0.setExpiry(nil, of: "doc-180") },
    Work("store a local document") { try $0.putLocal("local-150", ["n": 99]) },
    Work("remove a local document") { try $0.removeLocal("local-160") },
  ]

  private func configuration(_ disk: SimulatedFileSystem) -> Configuration {
    var configuration = Configuration.small(on: disk)
    configuration.maintenance = .manual
    configuration.history = .everything
    configuration.reads = .buffered
    return configuration
  }

  /// A store whose trees have several leaves each, all of them in a checkpoint.
  private func makeStore() throws -> SimulatedFileSystem {
    let disk = SimulatedFileSystem()
    let database = try Database(at: "/s.divan", configuration: configuration(disk))
    for round in 0..<2 {
      try database.write { transaction in
        for number in 100..<200 {
          let id = "doc-\(number)"
          var document = try transaction.get(id) ?? Document(id: id)
          document["n"] = .int(Int64(round))
          document.attachments["note"] = Document.Attachment(
            contentType: "x/y", "\(number)".utf8)
          try transaction.put(document)
          try transaction.putLocal("local-\(number)", ["n": .int(Int64(round))])
          if number % 30 == 0 {
            try transaction.setExpiry(
              Date(timeIntervalSince1970: Double(4_000_000_000 + round)), of: id)
          }
        }
      }
    }
    try database.write { transaction in
      for number in stride(from: 105, to: 200, by: 30) {
        try transaction.insert(
          Document(id: "doc-\(number)", ["n": 7]), history: [RevisionID(parsing: "1-branch")])
      }
    }
    try database.nameSnapshot("then")
    try database.writeCheckpoint()
    try database.close()
    return disk
  }

  /// Runs `body` with the n-th page of a checkpoint unreadable that it asks for, from the first on until it
  /// asks for no more; returns how many there were.
  private func forEachUnreadablePage(
    _ base: SimulatedFileSystem, _ body: (Database, _ fails: () -> Void, _ stop: () -> Void) throws
      -> Void
  ) throws -> Int {
    for place in 1... {
      let disk = base.restarted(.processEnd)
      let database = try Database(at: "/s.divan", configuration: configuration(disk))
      let count = Atomic(0)
      try body(
        database,
        {
          disk.observeCalls { call in
            guard call.verb == .read, call.path.hasSuffix(".checkpoint") else { return }
            if count.wrappingAdd(1, ordering: .relaxed).newValue == place {
              disk.fail(.read, with: .inputOutput)
            }
          }
        },
        {
          disk.observeCalls(nil)
          disk.stopFailing()
        })
      try RebuiltIndex(of: database).expectSame("page \(place)")
      let problems = try database.check().problems
      #expect(problems.map(\.description) == [], "page \(place)")
      try database.close()
      if count.load(ordering: .relaxed) < place { return place - 1 }
    }
    return 0
  }

  @Test(arguments: work)
  func `a transaction goes on without what it could not do`(work: Work) throws {
    let count = try forEachUnreadablePage(makeStore()) { database, fail, stop in
      try database.write { transaction in
        let size = transaction.size
        let sequence = transaction.state.lastSequence
        fail()
        do {
          try work.perform(transaction)
          stop()
        } catch {
          stop()
          #expect((error as? DatabaseError)?.code == .inputOutput, "\(error)")
          #expect(transaction.size == size && transaction.state.lastSequence == sequence)
          try work.perform(transaction)
        }
      }
    }
    #expect(count > 1)
  }

  @Test func `compaction that could not read a page is made up for by the next one`() throws {
    let count = try forEachUnreadablePage(makeStore()) { database, fail, stop in
      try database.write { transaction in
        try transaction.purge("doc-110")
        try transaction.update("doc-111") { $0.attachments = [:] }
      }
      fail()
      do {
        try database.compact()
        stop()
      } catch {
        stop()
        #expect((error as? DatabaseError)?.code == .inputOutput, "\(error)")
      }
      try database.compact()
    }
    #expect(count > 3)
  }
}
