import DivanLog
import Synchronization
import Testing

@testable import Divan

private final class Track: Model {
  @Persisted var name: String
  static let loads = Atomic(0)
  static var loadCount: Int { loads.load(ordering: .relaxed) }
  override func didLoad() { Track.loads.add(1, ordering: .relaxed) }
  override class var documentType: String? { nil }
}

private final class Album: Model {
  @Persisted var tracks: [Track]
  override class var documentType: String? { nil }
}

private final class Link: Model {
  @Persisted var next: Link?
  @Persisted var others: [Link]
  @Persisted(onDelete: .cascade) var owned: Link?
  override class var documentType: String? { nil }
}

/// Tests of long lists of references, and of long chains of them.
@Suite(.serialized)
struct ModelLongListTests {
  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    try database.write { transaction in
      for number in 0..<20 {
        _ = try transaction.replace("t\(number)", with: ["name": .string("\(number)")])
      }
      _ = try transaction.replace(
        "album", with: ["tracks": .array((0..<20).map { .string("t\($0)") })])
    }
    context = database.makeContext()
  }

  private func album() throws -> Album { try #require(try context.model(Album.self, id: "album")) }

  /// Regression: each access looked up every model again, and recreated those not referenced.
  @Test func `a changed list looks up its models once until it is saved`() throws {
    let album = try album()
    let before = Track.loadCount
    album.tracks.append(Track(in: context, id: "new"))
    #expect(Track.loadCount - before <= 40)
    let count = Track.loadCount
    for number in 0..<10 { album.tracks.append(Track(in: context, id: "new\(number)")) }
    #expect(album.tracks.count == 31 && Track.loadCount == count)
    try context.save()
    #expect(try database.snapshot().document("album")?["tracks"]?.arrayValue?.count == 31)
    weak var released: Track?
    do { released = album.tracks.first }
    #expect(released == nil)
  }

  @Test func `deleted models are removed from a changed list`() throws {
    let album = try album()
    album.tracks.append(Track(in: context, id: "new"))
    try album.tracks[3].delete()
    #expect(album.tracks.count == 20 && !album.tracks.contains { $0.id == "t3" })
    try database.remove("t4")
    try context.refresh()
    #expect(album.tracks.count == 19)
    album.tracks.removeLast()
    try album.save()
    let stored = try database.snapshot().document("album")?["tracks"]?.arrayValue ?? []
    #expect(stored.count == 18 && !stored.contains("t3") && !stored.contains("t4"))
  }

  @Test func `reverting a changed list releases its models`() throws {
    weak var released: Track?
    let album = try album()
    do {
      album.tracks.removeFirst()
      released = album.tracks.first
    }
    #expect(released != nil)
    album.revert()
    #expect(released == nil && album.tracks.count == 20)
  }

  @Test func `models whose changed lists refer to each other are released with their context`()
    throws
  {
    weak var released: Link?
    do {
      let context = database.makeContext()
      let (a, b) = (Link(in: context), Link(in: context))
      a.others.append(b)
      b.others.append(a)
      released = a
      #expect(a.others.first?.others.first === a)
    }
    #expect(released == nil)
  }

  @Test func `references to documents that do not exist yet are kept in a changed list`() throws {
    try database.put("album", #"{"tracks": ["later", "t1", "t2", "never"]}"#)
    try database.remove("t2")
    try context.refresh()
    let album = try album()
    #expect(album.tracks.map(\.id) == ["t1"])
    album.tracks.append(try #require(try context.model(Track.self, id: "t5")))
    try album.save()
    // Deleted models are removed from the list.
    #expect(try database.json("album") == #"{"tracks":["later","t1","never","t5"]}"#)
    try database.put("later", #"{"name":"x"}"#)
    try context.refresh()
    #expect(album.tracks.map(\.id) == ["later", "t1", "t5"])
    album.tracks.removeAll()
    try album.save()
    #expect(try database.json("album") == #"{"tracks":["never"]}"#)
    album.tracks = []
    try album.save()
    #expect(try database.json("album") == #"{"tracks":[]}"#)
  }

  @Test func `releasing a chain of 100,000 models without a context needs no deep stack`() {
    for isList in [false, true] {
      var first = Link()
      for _ in 0..<100_000 {
        let link = Link()
        if isList { link.others = [first] } else { link.next = first }
        first = link
      }
      first = Link()
    }
  }

  @Test func `releasing and deleting chains of 100,000 models needs no deep stack`() throws {
    do {
      let context = database.makeContext()
      var first = Link(in: context)
      for number in 0..<100_000 {
        let link = Link(in: context)
        if number % 2 == 0 { link.others.append(first) } else { link.next = first }
        first = link
      }
    }
    let context = database.makeContext()
    var first = Link()
    for _ in 0..<100_000 {
      let link = Link()
      link.owned = first
      first = link
    }
    try context.insert(first)
    try first.delete()
    #expect(context.unsavedModels.isEmpty)
  }
}
