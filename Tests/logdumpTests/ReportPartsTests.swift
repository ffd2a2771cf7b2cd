import Divan
import DivanLog
import DivanTesting
import Testing

@testable import logdump

/// Tests of the parts of a report that bound its size.
struct ReportPartsTests {
  @Test(arguments: [1, 2, 3] as [UInt64])
  func `a list keeps the elements with the highest ranks`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var list = TopList<Int>(limit: 10)
    var all: [(rank: UInt64, number: Int)] = []
    for number in 0..<300 {
      let rank = UInt64.random(in: 0..<50, using: &random)
      all.append((rank, number))
      list.add(rank: rank, number)
    }
    let sorted = all.sorted { ($1.rank, $0.number) < ($0.rank, $1.number) }
    #expect(list.elements == sorted.prefix(10).map(\.number), "seed \(seed)")
    #expect(list.count == 300)
  }

  @Test func `sizes are counted in classes that end at powers of two`() {
    var histogram = SizeHistogram()
    #expect(histogram.bars.isEmpty && histogram.medianLimit == 0)
    for size in [1, 2, 3, 4, 5, 64, 65] as [UInt64] { histogram.add(size) }
    #expect(histogram.bars.map(\.limit) == [1, 2, 4, 8, 16, 32, 64, 128])
    #expect(histogram.bars.map(\.count) == [1, 1, 2, 1, 0, 0, 1, 1])
    #expect(histogram.total == 144 && histogram.medianLimit == 4)
    histogram.add(.max)
    #expect(histogram.bars.last == SizeHistogram.Bar(limit: .max, count: 1))
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func `a timeline counts each byte once, however long the time is`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var timeline = Timeline()
    var time: UInt64 = 1_700_000_000_000
    var records: [(RecordLocator, UInt64)] = []
    for number in 0..<2000 {
      time += UInt64.random(
        in: 0...(1 << UInt64.random(in: 0...34, using: &random)), using: &random)
      let locator = RecordLocator(
        fileID: UInt64(number / 500), offset: UInt64(number % 500 * 10),
        size: UInt32.random(in: 1...9, using: &random))
      records.append((locator, time))
      timeline.add(locator, at: time)
      timeline.addCommit(at: time)
    }
    for (locator, _) in records where locator.size > 4 {
      timeline.addLive(locator, isCurrent: locator.size > 6)
    }
    let slices = timeline.slices
    #expect(slices.count <= Timeline.sliceLimit, "seed \(seed)")
    #expect(slices.reduce(0) { $0 + $1.commitCount } == 2000)
    for slice in slices {
      let own = records.filter { $0.1 / timeline.width == slice.start / timeline.width }.map(
        \.0.size)
      func sum(_ range: ClosedRange<UInt32>) -> UInt64 {
        own.filter(range.contains).reduce(0) { $0 + UInt64($1) }
      }
      #expect(slice.written == sum(1...9) && slice.dead == sum(1...4))
      #expect(slice.current == sum(7...9) && slice.retained == sum(5...6))
    }
    // A forged time ends no process.
    timeline.add(RecordLocator(fileID: 9, offset: 0, size: 1), at: .max)
    #expect(
      timeline.slices.reduce(0) { $0 + $1.written } == records.reduce(1) { $0 + UInt64($1.0.size) })
  }

  @Test func `sizes, shares and numbers are written for people`() {
    #expect(readableSize(1) == "1 byte" && readableSize(1023) == "1023 bytes")
    #expect(readableSize(1536) == "1.5 KiB" && readableSize(250 << 20) == "250 MiB")
    #expect(readableSize(UInt64.max).hasSuffix(" EiB"))
    #expect(grouped(0) == "0" && grouped(999) == "999" && grouped(1_234_567) == "1,234,567")
    #expect(readableShare(0, of: 9) == "0 %" && readableShare(9, of: 9) == "100 %")
    #expect(readableShare(1, of: 3) == "33 %" && readableShare(1, of: 100_000) == "< 0.1 %")
    #expect(readableShare(99_999, of: 100_000) == "> 99.9 %")
    #expect(readableShare(1, of: 0) == "0 %")
  }

  /// Returns a line of revisions, and branches from some of its generations.
  private func revisions(_ length: Int, branches: [Int: Int] = [:]) throws -> [InspectedRevision] {
    let store = DumpedStore()
    var configuration = store.configuration
    configuration.revisionDepth = 1000
    let database = try Database(at: store.path, configuration: configuration)
    try database.write { transaction in
      func line(_ name: String, _ range: ClosedRange<Int>) throws -> [RevisionID] {
        try range.map { try RevisionID(parsing: "\($0)-\(name)") }
      }
      let main = try line("main", 1...length)
      _ = try transaction.insert(Document(id: "a"), history: main.reversed())
      for (generation, count) in branches {
        for number in 0..<count {
          let branch = try line("x\(generation)y\(number)", generation + 1...generation + 1)
          _ = try transaction.insert(
            Document(id: "a"), history: branch + main.prefix(generation).reversed())
        }
      }
    }
    let contents = try InspectedContents(database)
    let found = try contents.revisions(of: "a")
    try database.close()
    return found
  }

  @Test func `a short line of revisions is drawn whole`() throws {
    let picture = RevisionPicture("a", try revisions(1))
    #expect(picture.nodes.map(\.state) == [.winner] && picture.columnCount == 1)
    let two = RevisionPicture("a", try revisions(2))
    #expect(two.nodes.map(\.generation) == [1, 2] && two.nodes.map(\.parent) == [nil, 0])
    #expect(two.nodes.map(\.isRetained) == [false, true] && two.laneCount == 1)
  }

  @Test func `a long line is drawn by its ends, with the number of revisions between them`() throws
  {
    let picture = RevisionPicture("a", try revisions(200))
    #expect(picture.nodes.map(\.generation) == [1, 199, 200])
    #expect(picture.nodes.map(\.skippedCount) == [0, 197, 0])
    #expect(picture.revisionCount == 200 && picture.columnCount == 3)
  }

  @Test func `each leaf has a lane, and branches begin at their parent`() throws {
    let picture = RevisionPicture("a", try revisions(100, branches: [50: 2, 98: 1]))
    #expect(picture.leafCount == 4 && picture.branchCount == 4 && picture.laneCount == 4)
    let leaves = picture.nodes.filter { $0.state.isLeaf }
    #expect(leaves.count { $0.state == .winner } == 1)
    #expect(leaves.first { $0.state == .winner }?.lane == 0)
    #expect(Set(leaves.map(\.lane)) == [0, 1, 2, 3])
    for node in picture.nodes where node.revision.hasPrefix("51-x") {
      #expect(picture.nodes[try #require(node.parent)].revision == "50-main")
      #expect(node.skippedCount == 0)
    }
    let known = picture.nodes.count + picture.nodes.reduce(0) { $0 + $1.skippedCount }
    #expect(known == 103)
  }

  @Test func `very many leaves are bounded`() throws {
    let picture = RevisionPicture("a", try revisions(60, branches: [59: 100, 30: 50]))
    #expect(picture.leafCount == 151 && picture.laneCount == RevisionPicture.laneLimit)
    #expect(picture.omittedLeafCount == 151 - RevisionPicture.laneLimit)
    #expect(picture.columnCount <= RevisionPicture.columnLimit)
  }
}
