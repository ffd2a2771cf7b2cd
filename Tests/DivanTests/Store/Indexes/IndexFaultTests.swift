import DivanLog
import DivanTesting
import Foundation
import ProofKit
import Synchronization
import TestSupport
import Testing

@testable import Divan

/// Tests of index pages that temporarily cannot be read, one after the other.
///
/// The operation changes nothing, not even in part, and succeeds when it is retried.
struct IndexFaultTests {
  struct Work: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let perform: @Sendable (WriteTransaction) throws -> Void

    init(_ name: String, _ perform: @escaping @Sendable (WriteTransaction) throws -> Void) {
      testDescription = name
      self.perform = perform
    }
  }

  /// Returns an ID so long that few entries fill a page.
  private static func id(_ number: Int) -> String {
    "document-\(number)-\(String(repeating: "x", count: 40))"
  }

  static let work = [
    Work("attach new content") {
      var document = Document(id: "new")
      document.attachments["note"] = Document.Attachment(contentType: "x/y", [9, 9, 2])
      try $0.put(document)
    },
    Work("attach existing content") {
      var document = Document(id: "new")
      document.attachments = try #require(try $0.document(id(115))).attachments
      try $0.put(document)
    },
    Work("update a document with attachments") { try $0.update(id(120)) { $0["n"] = 99 } },
    Work("overwrite") { try $0.replace(id(130), with: ["n": 99]) },
    Work("begin a branch") {
      try $0.insert(Document(id: id(140)), history: [RevisionID(parsing: "1-other")])
    },
    Work("continue a branch") {
      try $0.insert(
        Document(id: id(105)),
        history: [RevisionID(parsing: "2-more"), RevisionID(parsing: "1-branch")])
    },
    Work("end all branches") { try $0.delete(id(135)) },
    Work("purge") { try $0.purge(id(145)) },
    Work("purge a branch") { try $0.purge(id(135), revision: RevisionID(parsing: "1-branch")) },
    Work("remove an expiry") { try $0.setExpiry(nil, of: id(150)) },
    Work("store a local document") { try $0.putLocal("local-150", ["n": 99]) },
  ]

  private static func configuration(_ disk: SimulatedFileSystem) -> Configuration {
    var configuration = Configuration.small(on: disk)
    configuration.maintenance = .manual
    configuration.history = .unlimited
    configuration.readMode = .buffered
    return configuration
  }

  private static func open(_ disk: SimulatedFileSystem) throws -> Database {
    try Database(at: "/s.divan", configuration: configuration(disk))
  }

  /// Creates a store whose trees have several leaves each, all of them in a checkpoint.
  ///
  /// One document has `attachmentCount` more attachments.
  private static func makeStore(attachmentCount: Int = 0) throws -> SimulatedFileSystem {
    let disk = SimulatedFileSystem()
    let database = try open(disk)
    for round in 0..<2 {
      try database.write { transaction in
        for number in 100..<160 {
          var document = try transaction.document(id(number)) ?? Document(id: id(number))
          document["n"] = .int(Int64(round))
          document.attachments["note"] = Document.Attachment(
            contentType: "x/y", "\(number)".utf8)
          for more in 0..<(number == 159 ? attachmentCount : 0) {
            document.attachments["\(more)"] = Document.Attachment(
              contentType: "x/y", "extra \(more)".utf8)
          }
          try transaction.put(document)
          if number % 30 == 0 {
            try transaction.setExpiry(
              Date(timeIntervalSince1970: Double(4_000_000_000 + round)), of: id(number))
          }
        }
        for number in 145..<155 {
          try transaction.putLocal("local-\(number)", ["n": .int(Int64(round))])
        }
      }
    }
    try database.write { transaction in
      for number in [105, 135] {
        try transaction.insert(
          Document(id: id(number), ["n": 7]), history: [RevisionID(parsing: "1-branch")])
      }
    }
    try database.saveSnapshot(named: "then")
    try database.writeCheckpoint()
    try database.close()
    return disk
  }

  /// Runs `body` once for each page of a checkpoint that it reads, with that page unreadable.
  ///
  /// It ends when `body` reads no further page. Returns the number of pages.
  private func forEachUnreadablePage(
    attachmentCount: Int = 0,
    _ body: (Database, _ fails: () -> Void, _ stop: () -> Void) throws -> Void
  ) throws -> Int {
    let base = try Self.makeStore(attachmentCount: attachmentCount)
    for number in 1... {
      let disk = base.restarted(.processEnd)
      let database = try Self.open(disk)
      let count = Atomic(0)
      try body(
        database,
        {
          disk.observeCalls { call in
            guard call.verb == .read, call.path.hasSuffix(".checkpoint") else { return }
            if count.wrappingAdd(1, ordering: .relaxed).newValue == number {
              disk.fail(.read, with: .inputOutput)
            }
          }
        },
        {
          disk.observeCalls(nil)
          disk.stopFailing()
        })
      let problems = try database.check().problems
      #expect(problems.map(\.description) == [], "page \(number)")
      try RebuiltIndex(of: database).expectSame("page \(number)")
      try database.close()
      if count.load(ordering: .relaxed) < number { return number - 1 }
    }
    return 0
  }

  @Test(arguments: work)
  func `a transaction continues after a change that cannot read a page`(work: Work) throws {
    try expectContinuing(without: work, attachmentCount: 0)
  }

  /// There are so many attachments that opening does not read all of their pages.
  ///
  /// Opening reads the list of the document indexes, which is in the same tree.
  @Test func `a transaction continues after a failed lookup of attachment content`() throws {
    try expectContinuing(without: Self.work[0], attachmentCount: 60)
  }

  private func expectContinuing(without work: Work, attachmentCount: Int) throws {
    let count = try forEachUnreadablePage(attachmentCount: attachmentCount) {
      database, fail, stop in
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
    #expect(count > 0)
  }

  @Test func `a compaction that cannot read a page is completed by the next one`() throws {
    let count = try forEachUnreadablePage { database, fail, stop in
      try database.write { transaction in
        try transaction.purge(Self.id(110))
        try transaction.update(Self.id(111)) { $0.attachments = [:] }
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

  @Test func `the count of a past version is the recorded one if its pages cannot be read`()
    throws
  {
    let count = try forEachUnreadablePage { database, fail, stop in
      let past = try database.snapshot(at: 60)
      fail()
      #expect(try past.count == 60)
      stop()
    }
    #expect(count > 0)
  }

  /// Creates a store that was not closed, with two checkpoints that build on each other.
  ///
  /// The log after them removes some of their contents.
  private static func makeLayeredStore() throws -> SimulatedFileSystem {
    let disk = try makeStore()
    let database = try open(disk)
    try database.write { transaction in
      try transaction.purge(id(101))
      try transaction.purge(id(102))
      try transaction.replace(id(103), with: ["n": 3])
      try transaction.removeLocal("local-146")
      try transaction.setExpiry(nil, of: id(120))
      try transaction.setExpiry(Date(timeIntervalSince1970: 4_000_000_002), of: id(150))
    }
    try database.write { _ = try $0.put(Document(id: id(102), ["n": "again"])) }
    try database.writeCheckpoint()
    try database.write { transaction in
      try transaction.purge(id(104))
      try transaction.delete(id(105))
      try transaction.purge(id(135), revision: RevisionID(parsing: "1-branch"))
      try transaction.putLocal("local-147", ["n": 3])
      try transaction.update(id(106)) { $0.attachments = [:] }
    }
    return disk
  }

  @Test func `reads return all documents, whichever page of the index is damaged`() throws {
    let base = try Self.makeLayeredStore()
    let numbers = try base.list("/s.divan").compactMap { name -> UInt64? in
      guard case .checkpoint(let number)? = FileName(name) else { return nil }
      return number
    }
    #expect(numbers.count == 2)
    let directory = StoreDirectory("/s.divan", on: base)
    var count = 0
    for number in numbers {
      let pages = try CheckpointFile.open(number, in: directory, isMapped: false).header.pageCount
      for page in 0..<UInt32(pages) {
        let disk = base.restarted(.processEnd)
        try disk.corrupt(
          directory.path(of: .checkpoint(number)),
          atOffset: CheckpointHeader.offset(ofPage: page) + 70, mask: 1)
        let database = try Self.open(disk)
        let comment: Comment = "page \(page) of checkpoint \(number)"
        #expect(database.openingReport.damage.isEmpty, comment)
        #expect(try database.check().problems.map(\.description) == [], comment)
        try RebuiltIndex(of: database).expectSame(comment)
        let snapshot = try database.snapshot()
        #expect(try snapshot.count == 57, comment)
        #expect(try snapshot.localDocumentIDs().count == 9, comment)
        #expect(try database.snapshot(named: "then").document(Self.id(103))?["n"] == 1, comment)
        // Below the changed expiry, there was a record of the same sequence number.
        #expect(try snapshot.expiry(of: Self.id(120)) == nil, comment)
        let expiry = try snapshot.expiry(of: Self.id(150))?.timeIntervalSince1970
        #expect(expiry == 4_000_000_002, comment)
        count += 1
      }
    }
    #expect(count > 8)
  }

  /// While a compacted segment is installed, the log contains its records twice.
  @Test func `compaction succeeds, whichever page of the index is damaged`() throws {
    let base = try Self.makeStore()
    do {
      let database = try Self.open(base)
      try database.write { transaction in
        for number in 100..<160 { try transaction.replace(Self.id(number), with: ["n": 2]) }
      }
      try database.writeCheckpoint()
      try database.close()
    }
    var count = 0
    for name in base.names(in: "/s.divan") {
      guard case .checkpoint(let number)? = FileName(name) else { continue }
      let pages = try CheckpointFile.open(
        number, in: StoreDirectory("/s.divan", on: base), isMapped: false
      ).header.pageCount
      for page in 0..<pages {
        let disk = base.restarted(.processEnd)
        try disk.corrupt(
          "/s.divan/\(name)", atOffset: CheckpointHeader.offset(ofPage: page) + 70, mask: 1)
        let database = try Self.open(disk)
        let comment: Comment = "page \(page) of \(name)"
        try database.write { _ = try $0.put(Document(id: "active")) }
        try database.compact()
        #expect(disk.names(in: "/s.divan").contains { $0.contains("-") }, comment)
        #expect(try database.check().problems.map(\.description) == [], comment)
        try RebuiltIndex(of: database).expectSame(comment)
        let snapshot = try database.snapshot()
        let changes = snapshot.changes()
        #expect(try changes.collect().count == 61, comment)
        #expect(try snapshot.document(Self.id(107))?["n"] == 2, comment)
        count += 1
      }
    }
    #expect(count > 4)
  }

  /// A medium that fails may never return the page, but the log has everything.
  @Test(arguments: [SystemError.Code.tooManyOpenFiles, .inputOutput])
  func `an opening fails if replay cannot read a page now, and can be retried`(
    _ code: SystemError.Code
  ) throws {
    let base = try Self.makeLayeredStore()
    var failures = 0
    for number in 1...100 {
      let disk = base.restarted(.processEnd)
      let count = Atomic(0)
      disk.observeCalls { call in
        guard call.verb == .read, call.path.hasSuffix(".checkpoint") else { return }
        if count.wrappingAdd(1, ordering: .relaxed).newValue == number {
          disk.fail(.read, with: code)
        }
      }
      do {
        try Self.open(disk).close()
      } catch {
        #expect((error as? DatabaseError)?.code == .resourceExhausted, "\(error)")
        failures += 1
      }
      disk.observeCalls(nil)
      disk.stopFailing()
      let reopened = try Self.open(disk)
      #expect(try reopened.snapshot().count == 57)
      if count.load(ordering: .relaxed) < number { break }
    }
    #expect((failures > 0) == (code == .tooManyOpenFiles))
  }
}
