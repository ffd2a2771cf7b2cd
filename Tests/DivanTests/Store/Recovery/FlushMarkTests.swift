import DivanLog
import DivanTesting
import Testing

@testable import Divan

/// Tests that lost commits at the end of a log that was not closed are reported.
///
/// The individual scenarios are in `RuleCase+Evidence.swift`.
struct FlushMarkTests {
  @Test func `truncating or zeroing an unclosed log of a thousand commits is reported as damage`()
    throws
  {
    // Regression: a log of 1,000 commits that ended with its process, and was cut to its header,
    // opened as an empty store.
    let disk = SimulatedDisk()
    let database = try Database(
      at: "/films.divan", configuration: disk.configuration(hasSmallFiles: false))
    for number in 0..<1000 {
      try database.write {
        try $0.put(Document(id: "film-\(number)", ["number": .int(Int64(number))]))
      }
    }
    let segment = "/films.divan/0000000001.segment"
    let bytes = try disk.contents(of: segment)
    #expect(bytes.count > 100_000)
    for isCut in [true, false] {
      let left = disk.restarted(.processEnd)
      if isCut {
        try left.truncate(segment, toSize: 4096)
      } else {
        let half = bytes.count / 2
        try left.vanish(segment)
        try left.addFile(
          segment,
          contents: bytes.prefix(half) + [UInt8](repeating: 0, count: bytes.count - half))
      }
      var configuration = left.configuration(hasSmallFiles: false)
      #expect(throws: DatabaseError.self) {
        _ = try Database(at: "/films.divan", configuration: configuration)
      }
      configuration.isReadOnly = true
      let opened = try Database(at: "/films.divan", configuration: configuration)
      let damage = try #require(opened.openingReport.damage.first)
      #expect(damage.path == segment)
      #expect(damage.message.contains("FLUSHED shows that the log was durable through commit 1000"))
      #expect(throws: DatabaseError.self) { try opened.snapshot().count }
      #expect(try !opened.check().isSound)
    }
    let sound = disk.restarted(.processEnd)
    let opened = try Database(
      at: "/films.divan", configuration: sound.configuration(hasSmallFiles: false))
    #expect(try opened.snapshot().count == 1000)
    #expect(opened.openingReport.damage.isEmpty)
  }

  @Test func `decoding FLUSHED rejects a wrong size, kind or number`()
    throws
  {
    let mark = FlushMark(
      preamble: FilePreamble(
        kind: .flushed, storeID: StoreID(high: 1, low: 2), salt: 3, createdAt: 4),
      segmentNumber: 5, end: LogEnd(offset: 4096, commit: 6, chain: 7))
    let sound = mark.encode()
    #expect(sound.count == FlushMark.size)
    #expect(try FlushMark.decode(sound, path: "FLUSHED") == mark)
    for size in [0, 60, 255] {
      #expect(throws: LogError.self) {
        _ = try FlushMark.decode(sound.prefix(size), path: "FLUSHED")
      }
    }
    let refused: [(inout FlushMark) -> Void] = [
      { $0.segmentNumber = counterLimit + 1 }, { $0.end.offset = counterLimit + 1 },
      { $0.end.commit = counterLimit + 1 }, { $0.preamble.kind = .head },
    ]
    for change in refused {
      var other = mark
      change(&other)
      #expect(throws: LogError.self) {
        _ = try FlushMark.decode(other.encode(), path: "FLUSHED")
      }
    }
  }
}
