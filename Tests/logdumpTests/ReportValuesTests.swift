import Divan
import DivanLog
import DivanTesting
import Testing

@testable import logdump

/// Tests of the values that `report` gathers, against values that were computed without it.
struct ReportValuesTests {
  @Test func `a small store has the values that were computed by hand`() throws {
    let contents = try DumpedStore.films().reported()
    #expect(contents.storeID == "9e3779b97f4a7c153c6ef372fe94f82a")
    #expect(contents.ending == "closed properly")
    #expect(contents.commit == 3 && contents.time == 1_700_000_008_000)
    #expect(contents.problems.isEmpty && contents.damage.count == 0)
    let segments = contents.segments
    #expect(segments.map(\.name) == ["0000000001.segment", "0000000002.segment"])
    #expect(segments.map(\.size) == [4536, 4232])
    // The records of `tx --records`: 62 and 60 bytes, then 87 and 58; then 51.
    #expect(
      segments[0].sizes
        == [.documents: 87, .deleted: 58, .dead: 62 + 60, .framing: 4536 - 267])
    #expect(segments[1].sizes == [.documents: 51, .framing: 4232 - 51])
    #expect(segments.map(\.commitCount) == [2, 1] && segments.map(\.recordCount) == [4, 1])
    #expect(segments.map(\.live) == [145, 51])
    #expect(segments[0].times == 1_700_000_003_000...1_700_000_004_000)
    #expect(contents.documents.liveCount == 2 && contents.documents.deletedCount == 1)
    #expect(contents.documents.largest.elements.map(\.id) == ["metropolis", "m"])
    #expect(contents.documents.largest.elements.map(\.size) == [87, 51])
    #expect(
      contents.documents.sizes.bars == [
        SizeHistogram.Bar(limit: 64, count: 1), SizeHistogram.Bar(limit: 128, count: 1),
      ])
    #expect(contents.revisions.mostEdited.elements.map(\.generation) == [2, 2, 1])
    let slices = contents.timeline.slices
    #expect(slices.map(\.start) == [1_700_000_003_000, 1_700_000_004_000, 1_700_000_008_000])
    #expect(slices.map(\.written) == [122, 145, 51])
    #expect(slices.map(\.current) == [0, 145, 51])
    #expect(slices.map(\.dead) == [122, 0, 0])
    #expect(slices.map(\.commitCount) == [1, 1, 1])
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `counts, sizes and selectivity are those of a plain model`(seed: UInt64) throws {
    let model = try ModeledStore(seed: seed)
    let contents = try model.store.reported()
    #expect(contents.damage.count == 0 && contents.problems.isEmpty)

    let shared = model.leafCounts.count
    #expect(contents.documents.liveCount == model.documents.count + shared, "seed \(seed)")
    #expect(contents.documents.deletedCount == model.edits.count - model.documents.count)
    #expect(
      contents.revisions.mostEdited.elements.map { Int($0.generation) }
        == (Array(model.edits.values) + model.leafCounts.values.map { _ in 1 })
        .sorted(by: >).prefix(20).map { $0 })
    for edited in contents.revisions.mostEdited.elements {
      #expect(Int(edited.generation) == model.edits[edited.id] ?? 1)
    }

    // Indexes: entries, and distinct values among them.
    let kinds = model.documents.values.compactMap { $0["kind"] } + model.leafCounts.map { _ in 0 }
    let byKind = try #require(contents.indexes.first { $0.index.name == "by kind" })
    #expect(byKind.entryCount == kinds.count)
    #expect(byKind.distinctCount == Set(kinds.map(\.json)).count)
    let tags = model.documents.values.map { Set($0["tags"]?.arrayValue?.map(\.json) ?? []) }
    let byTag = try #require(contents.indexes.first { $0.index.name == "by tag" })
    #expect(byTag.entryCount == tags.reduce(0) { $0 + $1.count })
    #expect(byTag.distinctCount == Set(tags.joined()).count)

    // Attachments: each content once, also if only older revisions have it.
    let (small, large) = (
      model.contents.filter { $0.count < 1 << 16 }, model.contents.filter { $0.count >= 1 << 16 }
    )
    #expect(contents.attachments.inLog.count == small.count)
    #expect(contents.attachments.inLog.size == UInt64(small.reduce(0) { $0 + $1.count }))
    #expect(contents.attachments.inFiles.count == large.count)
    #expect(contents.attachments.inFiles.size == UInt64(large.reduce(0) { $0 + $1.count }))
    #expect(
      contents.attachments.largest.elements.map(\.length)
        == model.contents.map(\.count).sorted(by: >))
    #expect(contents.attachments.references.allSatisfy { $0.first?.name == "file" })

    // What keeps superseded records.
    let leaves = model.leafCounts.values.reduce(0) { $0 + $1 - 1 }
    #expect(contents.uses[.leaves]?.count == leaves)
    #expect(contents.uses[.snapshots]?.count == model.changedCount)
    #expect(contents.uses[.history]?.count == model.supersededCount - model.changedCount)
    #expect(contents.snapshots.elements.map(\.name) == ["middle"])
    #expect(contents.revisions.treeCount == shared && contents.revisions.conflictCount == shared)
    for branched in contents.revisions.mostLeaves.elements {
      #expect(branched.leafCount == model.leafCounts[branched.id])
      #expect(branched.branchCount == branched.leafCount)
    }
    #expect(contents.revisions.pictures.first?.leafCount == model.leafCounts.values.max())
  }

  @Test func `a full-text index is measured by its words and their documents`() throws {
    let store = DumpedStore()
    let database = try store.open()
    try database.addIndex(
      DocumentIndex(
        "words", fullText: "text", options: FullTextOptions(stemming: .english)))
    let texts = ["Fresh milk", "Milk and more milk", "Tea", ""]
    try database.write { transaction in
      for (number, text) in texts.enumerated() {
        _ = try transaction.put(Document(id: "\(number)", ["text": .string(text)]))
      }
      for number in 0..<300 {
        _ = try transaction.put(Document(id: "frequent \(number)", ["text": "frequent"]))
      }
    }
    try database.close()
    let measure = try #require(try store.reported().indexes.first)
    #expect(measure.index.name == "words")
    // Fresh, milk twice, and, more, tea; and a word in several blocks of postings.
    #expect(measure.entryCount == 6 + 300 && measure.distinctCount == 6)
    #expect(measure.size > 300)
    let (run, page) = try store.report()
    #expect(run.status == .sound, "\(run.problems)")
    #expect(page.text.contains("full text of text; English stems"))
  }

  @Test(arguments: [1, 2] as [UInt64])
  func `the uses of a segment's bytes add up to its size, and agree with stats`(seed: UInt64) throws
  {
    for store in [try ModeledStore(seed: seed).store, try DumpedStore.aged()] {
      let contents = try store.reported()
      let lines = store.dump("stats", "--json").lines
      #expect(contents.segments.count == lines.count)
      for (segment, line) in zip(contents.segments, lines) {
        let fields = try #require(try Value(json: line).objectValue)
        #expect(segment.size == UInt64(try store.bytes(segment.name).count))
        #expect(segment.sizes.values.reduce(0, +) == segment.size, "\(segment)")
        #expect(fields["live"]?.json == "\(segment.live)", "\(segment)")
        #expect(fields["dead"]?.json == "\(segment.sizes[.dead] ?? 0)")
        let pinned = segment.sizes.reduce(0) { $1.key.isRetained ? $0 + $1.value : $0 }
        #expect(fields["pinned"]?.json == "\(pinned)")
      }
      // Time and segments are two views of the same records.
      let slices = contents.timeline.slices
      let dead = contents.segments.reduce(0) { $0 + ($1.sizes[.dead] ?? 0) }
      #expect(
        slices.reduce(0) { $0 + $1.written } == contents.segments.reduce(dead) { $0 + $1.live })
      #expect(slices.reduce(0) { $0 + $1.dead } >= dead)
      let total = contents.files.reduce(0) { $0 + $1.amount.size }
      let segments = contents.segments.reduce(0) { $0 + $1.size }
      #expect(
        contents.files.first { $0.title == "Segments" }?.amount
          == ReportContents.Amount(count: contents.segments.count, size: segments))
      #expect(total > segments)
    }
  }

  @Test func `an empty store has no segments, documents or damage`() throws {
    let store = DumpedStore()
    try store.open().close()
    let contents = try store.reported()
    #expect(contents.documents.liveCount == 0 && contents.documents.sizes.bars.isEmpty)
    #expect(contents.timeline.slices.isEmpty && contents.damage.count == 0)
    #expect(contents.problems.isEmpty)
  }

  @Test func `damage is listed with its place, and the rest is measured`() throws {
    let store = try DumpedStore.films()
    var bytes = try store.bytes("0000000001.segment")
    bytes[4360] ^= 1
    try store.replace("0000000001.segment", with: bytes)
    let contents = try store.reported()
    #expect(contents.damage.count > 0)
    #expect(contents.damage.items.allSatisfy { $0.path == "/films.divan/0000000001.segment" })
    // The flipped byte is in the record of 87 bytes.
    #expect(contents.damage.items.map(\.offset) == [4336])
    #expect(contents.damage.items.map(\.size) == [87])
    // The document of the second segment is whole.
    #expect(contents.documents.largest.elements.contains { $0.id == "m" })
    for segment in contents.segments {
      #expect(segment.sizes.values.reduce(0, +) == segment.size)
    }
  }

  @Test func `a missing file of an attachment is damage`() throws {
    let store = DumpedStore()
    let database = try store.open()
    try database.write { transaction in
      var document = Document(id: "photo")
      let content = [UInt8](repeating: 1, count: 100_000)
      document.attachments["a"] = Document.Attachment(contentType: "x/y", content)
      try transaction.put(document)
    }
    try database.close()
    #expect(try store.reported().damage.count == 0)
    let root = "\(store.path)/attachments"
    let folder = try #require(try store.fileSystem.list(root).first)
    let file = try #require(try store.fileSystem.list("\(root)/\(folder)").first)
    try store.fileSystem.remove("\(root)/\(folder)/\(file)")
    let contents = try store.reported()
    #expect(contents.damage.items.map(\.path) == ["\(root)/\(folder)/\(file)"])
    #expect(contents.attachments.largest.elements.first?.damage != nil)
    #expect(try store.report().run.status == .damage)
  }
}
