import DivanLog
import DivanTesting
import Foundation
import TestSupport
import Testing

@testable import Divan

/// Tests of attachments that are stored while the database closes, or read while they are removed.
struct AttachmentClosingTests {
  private let disk = SimulatedFileSystem()
  private let database: Database

  init() throws { database = try Database(at: "/s", configuration: .small(on: disk)) }

  /// Returns content that is too large to be buffered until it is complete.
  private func long(_ seed: UInt8) -> [UInt8] { [UInt8](repeating: seed, count: 300_000) }

  /// Returns the files of attachments, under their final or their temporary names.
  private func files() throws -> [String] {
    var paths = try disk.list("/s/tmp").map { "/s/tmp/\($0)" }
    guard try disk.exists("/s/attachments") else { return paths }
    for folder in try disk.list("/s/attachments") {
      paths += try disk.list("/s/attachments/\(folder)")
    }
    return paths
  }

  private func expectClosed(_ body: () throws -> Void) {
    let error = #expect(throws: DatabaseError.self) { try body() }
    #expect(error?.code == .closed)
  }

  @Test(arguments: 1...3)
  func `storing an attachment fails if the database closes, and leaves no files`(
    lastPiece: Int
  ) throws {
    var count = 0
    expectClosed {
      _ = try database.storeAttachment(contentType: "x/y") { () -> [UInt8]? in
        count += 1
        if count == lastPiece {
          try database.close()
          #expect(try files().isEmpty)
        }
        return count < 3 ? long(UInt8(count)) : nil
      }
    }
    #expect(try files().isEmpty)
  }

  /// The next opening uses the same names for its temporary files.
  @Test func `an attachment writer of a closed database does not touch files of the next opening`()
    throws
  {
    let writer = database.store.attachments.makeWriter()
    try writer.append(SharedBytes(copying: long(1)))
    #expect(try files().count == 1)
    try database.close()
    #expect(try files().isEmpty)
    let next = try Database(at: "/s", configuration: .small(on: disk))
    let other = next.store.attachments.makeWriter()
    try other.append(SharedBytes(copying: long(2)))
    let temporaries = try files()
    #expect(temporaries.count == 1)
    #expect(throws: LogError.self) { try writer.append(SharedBytes(copying: long(3))) }
    #expect(try files() == temporaries)
    let stored = try other.finish()
    #expect(try next.store.attachments.open(stored.record).readAll().array == long(2))
    let late = database.store.attachments.makeWriter()
    #expect(throws: LogError.self) { try late.append(SharedBytes(copying: long(4))) }
  }

  @Test func `an attachment file that gets its final name while the database closes is removed`()
    throws
  {
    let database = database
    disk.observeCalls { call in
      // The file has its final name, but the caller has no result yet.
      if call.verb == .flushDirectory, call.path.hasPrefix("/s/attachments/") {
        try? database.close()
      }
    }
    _ = try? database.storeAttachment(contentType: "x/y", pieces: AttachmentPiece(long(1)).take)
    disk.observeCalls(nil)
    expectClosed { _ = try database.snapshot() }
    #expect(try files().isEmpty)
    // Nor does a file get its final name if the database closes before that.
    let next = try Database(at: "/s", configuration: .small(on: disk))
    disk.observeCalls { call in
      if call.verb == .flush, call.path.hasPrefix("/s/tmp/attachment") { try? next.close() }
    }
    expectClosed {
      _ = try next.storeAttachment(contentType: "x/y", pieces: AttachmentPiece(long(2)).take)
    }
    disk.observeCalls(nil)
    #expect(try files().isEmpty)
  }

  @Test func `storing asynchronous attachment content fails if the database closes`()
    async throws
  {
    let database = database
    let (pieces, continuation) = AsyncStream.makeStream(of: [UInt8].self)
    continuation.yield(long(1))
    let storing = Task { try await database.storeAttachment(contentType: "x/y", pieces: pieces) }
    while try files().isEmpty { await Task.yield() }
    try await database.close()
    continuation.yield(long(2))
    continuation.finish()
    let error = await #expect(throws: DatabaseError.self) { try await storing.value }
    #expect(error?.code == .closed)
    #expect(try files().isEmpty)
  }

  @Test
  func `an attachment that the writer removed throws notFound in a reader, not damaged`()
    throws
  {
    var document = Document(id: "a")
    document.attachments["kept"] = Document.Attachment(contentType: "x/y", long(1))
    document.attachments["gone"] = Document.Attachment(contentType: "x/y", long(2))
    var stored = try database.write { try $0.put(document) }
    var configuration = Configuration.small(on: disk)
    configuration.isReadOnly = true
    let reader = try Database(at: "/s", configuration: configuration)
    let old = try #require(try reader.read { try $0.document("a") })
    stored.attachments["gone"] = nil
    try database.write { _ = try $0.put(stored) }
    stored = Document(id: "")
    try database.compact()
    #expect(try files().count == 1)
    #expect(try old.attachments["kept"]?.data() == Data(long(1)))
    let error = #expect(throws: DatabaseError.self) { try old.attachments["gone"]?.data() }
    #expect(error?.code == .notFound)
    #expect(error?.hint?.contains("again") == true)
    // It is damage if a file is missing that the newest version refers to as well.
    let kept = try #require(try files().first)
    try disk.remove("/s/attachments/\(kept.prefix(2))/\(kept)")
    let other = #expect(throws: DatabaseError.self) { try old.attachments["kept"]?.data() }
    #expect(other?.code == .damaged)
    // It is also damage if the newest version cannot be read.
    try database.close()
    for name in try disk.list("/s") where name.hasSuffix(".segment") {
      try disk.vanish("/s/\(name)")
    }
    let last = #expect(throws: DatabaseError.self) { try old.attachments["gone"]?.data() }
    #expect(last?.code == .damaged)
  }

  @Test func `results of a live query do not retain attachments, and replaced ones throw notFound`()
    async throws
  {
    func attach(_ bytes: [UInt8], to id: String) throws {
      try database.write { transaction in
        var document = try transaction.document(id) ?? Document(id: id)
        document.attachments["file"] = Document.Attachment(contentType: "x/y", bytes)
        _ = try transaction.put(document)
      }
    }
    try attach(long(1), to: "kept")
    try attach(long(2), to: "other")
    var results = database.liveResults(of: Query<Document>()).makeAsyncIterator()
    let first = try #require(try await results.next())
    let kept = try #require(first[0].attachments["file"])
    let replaced = try #require(first[1].attachments["file"])
    #expect(try await [kept.data(), replaced.data()] == [Data(long(1)), Data(long(2))])
    try attach(long(3), to: "other")
    try await database.compact()
    #expect(try files().count == 2)
    #expect(try await kept.data() == Data(long(1)))
    let error = await #expect(throws: DatabaseError.self) { try await replaced.data() }
    #expect(error?.code == .notFound && error?.hint?.contains("again") == true)
    let second = try #require(try await results.next())
    #expect(try await second[1].attachments["file"]?.data() == Data(long(3)))
    #expect(second[0].attachments == first[0].attachments)
    try await database.close()
    expectClosed { _ = try kept.data() }
  }
}

/// Content that arrives in one piece.
private final class AttachmentPiece {
  private var bytes: [UInt8]?

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  func take() -> [UInt8]? {
    defer { bytes = nil }
    return bytes
  }
}
