import Divan
import DivanLog
import DivanTesting
import Testing

@testable import logdump

/// Tests of the page that `report` writes.
struct ReportPageTests {
  private static let sections = [
    "files", "segments", "time", "retention", "documents", "attachments", "indexes", "revisions",
    "damage",
  ]

  /// Expects a page that is whole, accessible, and loads nothing.
  private func check(_ page: HTMLPage) {
    let ids = page.elements.compactMap { $0.attributes["id"] }
    #expect(Set(ids).count == ids.count)
    #expect(Set(page.all("section").compactMap { $0.attributes["id"] }) == Set(Self.sections))
    for link in page.all("a") {
      #expect(ids.contains(String((link.attributes["href"] ?? "").dropFirst())))
    }
    #expect(page.all("h1").count == 1 && page.all("h2").count == Self.sections.count)
    #expect(page.all("caption").count == page.all("table").count)
    #expect(page.all("caption").allSatisfy { !$0.text.isEmpty })
    for image in page.all("svg") {
      #expect(image.attributes["role"] == "img" && image.attributes["aria-label"]?.isEmpty == false)
    }
    let names = Set(page.elements.map(\.name))
    #expect(names.isDisjoint(with: ["script", "img", "link", "iframe", "object", "b"]))
    #expect(!page.source.contains("http:") && !page.source.contains("https:"))
    #expect(!page.source.contains("url(") && !page.source.contains("@import"))
    #expect(
      page.source.split(separator: "\n").allSatisfy { printable(String($0)) == String($0) })
  }

  @Test func `the page has a bar for each segment, and all sections`() throws {
    for store in [try DumpedStore.films(), try DumpedStore.aged(), try ModeledStore(seed: 4).store]
    {
      let (run, page) = try store.report()
      #expect(run.status == .sound)
      check(page)
      let count = try store.fileNames().count { $0.hasSuffix(".segment") }
      #expect(page.section("segments").count { $0.attributes["class"] == "bar" } == count)
      #expect(page.all("rect", "damage").isEmpty)
      #expect(page.text.contains("No damage was found"))
    }
  }

  @Test func `a store without any commit has a page`() throws {
    let store = DumpedStore()
    try store.open().close()
    let (run, page) = try store.report()
    #expect(run.status == .sound)
    check(page)
    #expect(page.text.contains("Nothing was committed yet."))
    #expect(page.text.contains("There are no documents."))
  }

  @Test func `text of the store has no effect as markup`() throws {
    let store = DumpedStore()
    let hostile = [
      "<script>alert(1)</script>", "\"><b onmouseover='x'>", "a&lt;b", "&", "'\"`", "]]>", "-->",
      CommandLineTests.hostile, "\u{202E}\u{2066}abc", "</title></style></svg>",
      String(repeating: "<", count: 240), "\u{1F468}\u{200D}\u{1F469}", "שלום",
    ]
    let database = try store.open()
    try database.write { transaction in
      for (number, text) in hostile.enumerated() {
        for branch in 0...1 {
          _ = try transaction.insert(
            Document(id: text, ["a": .string(text)]),
            history: [RevisionID(parsing: "1-<b>\(branch)&\(number)")])
        }
        var document = Document(id: "with attachment \(number)")
        let content = [UInt8](repeating: UInt8(number), count: 100 + number)
        document.attachments[text.filter { $0 != "\n" }] = Document.Attachment(
          contentType: "text/\(number)<b>", content)
        try transaction.put(document)
      }
    }
    for text in hostile {
      try database.saveSnapshot(named: text)
      try database.addIndex(
        DocumentIndex(text, paths: [[text]], where: [.equal("a", .string(text))]))
    }
    try database.close()
    let (run, page) = try store.report()
    #expect(run.status == .sound, "\(run.problems)")
    check(page)
    let text = page.text
    for each in hostile where each.count < 90 {
      #expect(text.contains(printable(each)), "\(each.debugDescription)")
    }
    for id in hostile {
      let (_, page) = try store.report("--document", id)
      check(page)
      #expect(page.section("revisions").contains { $0.text.contains("1-<b>1") })
    }
  }

  @Test func `a document that was chosen is drawn, and a missing one is refused`() throws {
    let store = try ModeledStore(seed: 5).store
    let (run, page) = try store.report("--document", "shared 3")
    #expect(run.status == .sound)
    check(page)
    let revisions = page.section("revisions")
    // Five leaves, and no ancestor.
    #expect(revisions.count { $0.name == "circle" } == 5)
    #expect(
      revisions.count { $0.attributes["class"]?.contains("winner") == true && $0.name == "circle" }
        == 1)
    let missing = store.dump("report", "--html", "/other.html", "--document", "missing")
    #expect(missing.status == .usage)
    #expect(missing.problems.contains("there is no document `missing`"))
    #expect(try !store.fileSystem.exists("/other.html"))
  }

  @Test func `damage is drawn in its segment, at its place`() throws {
    let store = try DumpedStore.films()
    var bytes = try store.bytes("0000000001.segment")
    bytes[4360] ^= 1
    try store.replace("0000000001.segment", with: bytes)
    let (run, page) = try store.report()
    #expect(run.status == .damage)
    check(page)
    let marks = page.section("segments").filter {
      $0.attributes["class"] == "damage" && $0.name == "rect"
    }
    #expect(!marks.isEmpty)
    for mark in marks {
      let x = try #require(mark.attributes["x"].flatMap(Double.init))
      // The bar of the longest segment is 1000 wide, and has 4536 bytes.
      #expect((940...1000).contains(x), "\(x)")
    }
    #expect(page.section("damage").contains { $0.name == "td" && $0.text == "segment" })
    #expect(page.all("section").first?.attributes["id"] == "damage")
  }

  @Test func `a flipped byte anywhere leaves a whole page`() throws {
    let store = try DumpedStore.aged()
    var statuses: Set<logdump.ExitStatus> = []
    for name in try store.fileNames() where FileName(name)?.isChecked == true {
      let sound = try store.bytes(name)
      for offset in stride(from: 5, to: sound.count, by: max(1, sound.count / 10)) {
        var bytes = sound
        bytes[offset] ^= 0x10
        try store.withBytes(bytes, in: name) {
          let path = "/flipped.html"
          let run = store.dump("report", "--html", path, "--force")
          statuses.insert(run.status)
          #expect(
            [.sound, .tornTail, .damage, .newerFormat].contains(run.status), "\(run.problems)")
          guard try store.fileSystem.exists(path) else { return }
          let page = try store.fileSystem.contents(of: path, limit: 1 << 22)
          _ = try HTMLPage(String(decoding: page.array, as: UTF8.self))
        }
      }
    }
    #expect(statuses.contains(.damage))
  }

  @Test func `the page of 50,000 documents is below 1 MB`() throws {
    let store = DumpedStore()
    let database = try store.open()
    for start in stride(from: 0, to: 50_000, by: 5000) {
      try database.write { transaction in
        for number in start..<start + 5000 {
          // Long IDs take the most space.
          let id = "\(number) " + String(repeating: "&", count: 200)
          try transaction.put(Document(id: id, ["number": .int(Int64(number))]))
        }
      }
    }
    try database.write { transaction in
      for number in 0..<2000 {
        let id = "\(number) " + String(repeating: "<", count: 200)
        for branch in 0..<2 {
          _ = try transaction.insert(
            Document(id: id), history: [RevisionID(parsing: "1-\(branch)")])
        }
      }
    }
    try database.writeCheckpoint()
    try database.close()
    let (run, page) = try store.report()
    #expect(run.status == .sound)
    check(page)
    #expect(page.source.utf8.count < 1_000_000, "\(page.source.utf8.count)")
    #expect(page.text.contains("52,000"))
  }

  @Test func `very many segments share rows`() throws {
    var contents = ReportContents(path: "/a")
    for number in 1...5000 {
      let name = "\(FileName.segment(UInt64(number)...UInt64(number)))"
      var segment = SegmentUse(name: name, path: "/a/\(name)", size: 5000)
      segment.sizes = [.documents: 3000, .dead: 1000, .framing: 1000]
      contents.segments.append(segment)
      contents.damage.add(
        Damage(path: segment.path, offset: 4096, reason: "broken"), isNote: false)
    }
    let page = try HTMLPage(ReportPage.markup(of: contents))
    check(page)
    let bars = page.section("segments").count { $0.attributes["class"] == "bar" }
    #expect(bars <= ReportPage.segmentLimit && bars > ReportPage.segmentLimit / 2)
    #expect(page.text.contains("There are 5,000 segments"))
    #expect(page.source.utf8.count < 1_000_000)
  }
}

extension FileName {
  /// Whether a report reads the file, so that a flipped byte may be seen.
  fileprivate var isChecked: Bool {
    switch self {
    case .segment, .checkpoint, .head, .flushed, .view: true
    default: false
    }
  }
}
