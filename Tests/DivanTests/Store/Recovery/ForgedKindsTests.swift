import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of records with valid checksums and payloads that do not fit their kind.
///
/// Each is damage with a location, and the records next to it can be read.
struct ForgedKindsTests {
  struct Forged: CustomTestStringConvertible, Sendable {
    let kind: UInt8
    let what: String
    let bytes: [UInt8]

    init(_ kind: UInt8, _ what: String, _ bytes: [UInt8]) {
      self.kind = kind
      self.what = what
      self.bytes = bytes
    }

    var testDescription: String { "kind \(kind): \(what)" }
  }

  private static let digest = [UInt8](repeating: 7, count: 16)
  private static let body = [UInt8](repeating: 7, count: 32)
  private static let beyond = [UInt8](repeating: 0xFF, count: 8) + [0x7F]

  static let refused: [Forged] =
    purges + locals + names + commitPoints + indexes + attachments + details

  private static let purges = [
    Forged(4, "an empty payload", []),
    Forged(4, "unknown flags", [16, 1, 97]),
    Forged(4, "no ID", [0, 0]),
    Forged(4, "an ID that is cut off", [0, 9, 97]),
    Forged(4, "no sequence number", [1, 1, 97]),
    Forged(4, "a sequence number beyond all limits", [1, 1, 97] + beyond),
    Forged(4, "no sequence number of the removed record", [2, 1, 97]),
    Forged(4, "no locator of the removed record", [2, 1, 97, 5, 1]),
    Forged(4, "no expiry", [4, 1, 97]),
    Forged(4, "trailing bytes", [0, 1, 97, 9]),
  ]

  private static let locals = [
    Forged(5, "an empty payload", []),
    Forged(5, "unknown flags", [4, 1, 97]),
    Forged(5, "no ID", [0, 0]),
    Forged(5, "no locator of the superseded record", [2, 1, 97, 1]),
    Forged(5, "trailing bytes", [1, 1, 97, 9]),
  ]

  private static let names = [
    Forged(6, "an empty payload", []),
    Forged(6, "unknown flags", [4, 1, 97]),
    Forged(6, "no name", [1, 0]),
    Forged(6, "no locator of the superseded record", [3, 1, 97, 1]),
    Forged(6, "no version", [0, 1, 97]),
    Forged(6, "no commit", [0, 1, 97, 1]),
    Forged(6, "no time", [0, 1, 97, 1, 1]),
    Forged(6, "no count", [0, 1, 97, 1, 1, 1]),
    Forged(6, "a count beyond all limits", [0, 1, 97, 1, 1, 1] + beyond),
    Forged(6, "trailing bytes", [0, 1, 97, 1, 1, 1, 1, 9]),
  ]

  private static let commitPoints = [
    Forged(7, "an empty payload", []),
    Forged(7, "no number of the previous commit", [5, 1, 1, 1]),
    Forged(7, "a previous commit that is not earlier", [5, 1, 1, 1, 5]),
    Forged(7, "trailing bytes", [5, 1, 1, 1, 4, 9]),
  ]

  private static let indexes = [
    Forged(8, "an empty payload", []),
    Forged(8, "unknown flags", [128, 1, 97, 1, 1, 1, 97]),
    Forged(8, "no name", [1, 0]),
    Forged(8, "a name that is not UTF-8", [1, 1, 0xFF]),
    Forged(8, "no locator of the superseded record", [3, 1, 97, 1]),
    Forged(8, "no number", [0, 1, 97]),
    Forged(8, "no path", [0, 1, 97, 1]),
    Forged(8, "an empty path", [0, 1, 97, 1, 0]),
    Forged(8, "a path that is too long", [0, 1, 97, 1, 17] + beyond),
    Forged(8, "a path that is cut off", [0, 1, 97, 1, 1, 9, 97]),
    Forged(8, "a path that is not UTF-8", [0, 1, 97, 1, 1, 1, 0xFF]),
    Forged(8, "trailing bytes", [1, 1, 97, 9]),
    Forged(8, "zero further properties", [32, 1, 97, 1, 1, 1, 97, 0]),
    Forged(8, "too many further properties", [32, 1, 97, 1, 1, 1, 97, 8] + beyond),
    Forged(8, "a further property that is cut off", [32, 1, 97, 1, 1, 1, 97, 1, 1, 9, 97]),
    Forged(8, "an empty further path", [32, 1, 97, 1, 1, 1, 97, 1, 0]),
    Forged(8, "zero conditions", [64, 1, 97, 1, 1, 1, 97, 0]),
    Forged(8, "too many conditions", [64, 1, 97, 1, 1, 1, 97, 17] + beyond),
    Forged(8, "text with unknown flags", [128, 1, 97, 1, 1, 1, 97, 4, 0, 0, 0]),
    Forged(8, "text that is cut off", [128, 1, 97, 1, 1, 1, 97, 3, 0, 0]),
    condition("an empty path", [0]),
    condition("no test", [1, 1, 98]),
    condition("an unknown test", [1, 1, 98, 7, 1, 0xA0]),
    condition("no value", [1, 1, 98, 0]),
    condition("a value that is cut off", [1, 1, 98, 0, 2, 0xA0]),
    condition(
      "a value that is too large", [1, 1, 98, 0, 0xE9, 0x07] + [UInt8](repeating: 1, count: 1001)),
    condition("an invalid value", [1, 1, 98, 0, 1, 0xA7]),
    condition("two values", [1, 1, 98, 0, 2, 0xA0, 0xA0]),
    condition("a prefix that is not a string", [1, 1, 98, 6, 1, 0xA0]),
    condition("trailing bytes", [1, 1, 98, 1, 9]),
  ]

  /// Returns the record of an index with one condition.
  private static func condition(_ what: String, _ bytes: [UInt8]) -> Forged {
    Forged(8, "a condition: \(what)", [64, 1, 97, 1, 1, 1, 97, 1] + bytes)
  }

  private static let attachments = [
    Forged(3, "an empty payload", []),
    Forged(3, "an unknown form", [3] + body + [0]),
    Forged(3, "a wrong length", [1] + body + [2, 1]),
  ]

  /// Returns a document's record with details.
  private static func details(_ what: String, _ bytes: [UInt8]) -> Forged {
    Forged(1, "details: \(what)", [32, 1, 97, 5, 1] + digest + bytes)
  }

  private static func entry(_ name: [UInt8], _ type: [UInt8], length: [UInt8] = [1]) -> [UInt8] {
    [UInt8(name.count)] + name + [UInt8(type.count)] + type + length + body + [1]
  }

  private static let details = [
    details("none", [0]),
    details("cut off", [0x80]),
    details("unknown ones", [0x80, 0x10]),
    details("more attachments than bytes", [1, 9]),
    details("zero attachments", [1, 0]),
    details("an attachment that is cut off", [1, 1, 1, 97, 1, 97, 1] + body),
    details("an attachment whose name is not UTF-8", [1, 1] + entry([0xFF], [97])),
    details("an attachment whose type is not UTF-8", [1, 1] + entry([97], [0xFF])),
    details("an attachment that is too long", [1, 1] + entry([97], [97], length: beyond)),
    details("attachments out of order", [1, 2] + entry([98], [97]) + entry([97], [97])),
    details("an attachment twice", [1, 2] + entry([97], [97]) + entry([97], [97])),
    details("a tree that is cut off", [2, 9, 1]),
    details("a winner that is cut off", [4]),
    details("a winner with unknown flags", [4, 4, 1] + digest + [1]),
    details("a winner of generation 0", [4, 0, 0] + digest + [1]),
    details("a winner beyond all numbers", [4, 0, 1] + digest + beyond),
    details("an expiry that is cut off", [8]),
    details("a former expiry that is cut off", [16]),
    details("an origin that is not UTF-8", [32, 1, 0xFF]),
    details("an origin that is cut off", [32, 3, 97]),
    details("more released records than bytes", [64, 9]),
    details("zero released records", [64, 0]),
    details("a released record beyond all numbers", [64, 1] + beyond),
  ]

  private let directory = StoreDirectory(CrashFixture.path, on: SimulatedFileSystem())

  private func document(_ id: String, sequence: UInt64) throws -> [UInt8] {
    let revision = try RevisionID.compute(
      parent: nil, isDeleted: false, body: (["n": 1] as Value).stored)
    var writer = ByteWriter()
    try DocumentRecord.forged(id, sequence: sequence, revision).encode(to: &writer)
    return ForgedSegment.record(1, writer.array)
  }

  @Test(arguments: refused)
  func `a record with an invalid payload is damage, and the other records are read`(forged: Forged)
    throws
  {
    var segment = ForgedSegment()
    segment.appendTransaction(
      commit: 1,
      try document("first", sequence: 1) + ForgedSegment.record(forged.kind, forged.bytes)
        + document("last", sequence: 90),
      lastSequence: 90, documentCount: 2)
    try segment.write(to: directory)
    var configuration = Configuration.small(on: directory.fileSystem)
    configuration.maintenance = .manual
    configuration.damage = .salvage
    let database = try Database(at: directory.path, configuration: configuration)
    let damage = try #require(database.openingReport.damage.first)
    #expect(database.openingReport.damage.count == 1)
    #expect(damage.path == directory.path(of: .segment(1...1)))
    #expect(damage.offset.map { $0 > SegmentHeader.size } == true)
    let ids = try database.snapshot().ids()
    #expect(try ids.collect() == ["first", "last"])
    let error = #expect(throws: DatabaseError.self) { try database.write { _ in } }
    #expect(error?.code == .readOnly)
  }
}
