import Testing

@testable import Divan

/// Tests of the hook that models run before they are deleted.
struct ModelWillDeleteTests {
  private class Node: Model {
    @Persisted var name: String
    @Persisted var count: Int
    @Persisted(onDelete: .cascade) var parts: [Node]
    @Persisted(onDelete: .deny) var keeper: Node?
    var notes: [String] = []
    var whenDeleted: (Node) throws -> Void = { _ in }
    var error: (any Error)?
    private var last: String?

    override func willDelete() {
      notes.append("will delete \(id)")
      last = name
      do { try whenDeleted(self) } catch { self.error = error }
    }
    override func willSave(_ changedProperties: [String]) { notes.append("will save") }
    override var tombstoneProperties: Value.Object {
      last.map { ["last": .string($0)] } ?? [:]
    }
    override class var documentType: String? { nil }
  }

  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
  }

  private func node(_ id: String) throws -> Node {
    let node = Node(in: context, id: id)
    node.name = "name of \(id)"
    try node.save()
    node.notes = []
    return node
  }

  private func exists(_ id: String) throws -> Bool { try database.snapshot().exists(id) }

  @Test func `willDelete runs before a deletion and can provide properties for the tombstone`()
    throws
  {
    let a = try node("a")
    a.whenDeleted = { [database] a in
      #expect(!a.isDeleted)
      let exists = try database.snapshot().exists("a")
      #expect(exists)
    }
    try a.delete()
    #expect(a.notes == ["will delete a"] && a.error == nil && a.isDeleted)
    #expect(try database.snapshot().tombstone("a")?.properties == ["last": "name of a"])
    try a.delete()
    #expect(a.notes == ["will delete a"])
  }

  @Test func `willDelete does not run for new models or for external deletions`() throws {
    let new = Node(in: context, id: "new")
    try new.delete()
    #expect(new.notes == [] && new.isDeleted)
    let a = try node("a")
    try database.remove("a")
    try context.refresh()
    #expect(a.notes == [] && a.isDeleted)
  }

  @Test func `willDelete runs once for each saved model of a cascade`() throws {
    let (a, b, c) = (try node("a"), try node("b"), try node("c"))
    a.parts = [b, c]
    b.parts = [c, a]
    try context.save()
    let new = Node(in: context, id: "new")
    c.parts = [new]
    for each in [a, b, c] { each.notes = [] }
    try a.delete()
    #expect(a.notes == ["will delete a"] && b.notes == ["will delete b"])
    #expect(c.notes == ["will delete c"] && new.notes == [] && new.isDeleted)
    #expect(try database.snapshot().count == 0)
  }

  @Test func `a deletion by query runs every willDelete before it deletes a model`() throws {
    let nodes = try ["a", "b", "c"].map { try node($0) }
    for each in nodes {
      each.whenDeleted = { _ in #expect(nodes.allSatisfy { !$0.isDeleted }) }
    }
    #expect(try context.delete(Query<Node>(), includingOtherClasses: true) == 3)
    #expect(nodes.allSatisfy { $0.isDeleted && $0.notes.count == 1 })
  }

  @Test func `references removed in willDelete neither cascade nor deny`() throws {
    let (a, b, c) = (try node("a"), try node("b"), try node("c"))
    a.parts = [b]
    a.keeper = c
    try context.save()
    #expect(code { try a.delete() } == .deleteDenied)
    #expect(try exists("a") && !a.isDeleted)
    a.whenDeleted = { a in
      a.parts = []
      a.keeper = nil
    }
    try a.delete()
    #expect(a.isDeleted && !b.isDeleted && !c.isDeleted)
    #expect(try !exists("a") && exists("b") && exists("c"))
    // The hook ran at each attempt, also on the models that would have been deleted with it.
    #expect(a.notes.filter { $0 == "will delete a" }.count == 2)
    #expect(b.notes.contains("will delete b"))
  }

  @Test func `models added to a cascade in willDelete are deleted after their own willDelete`()
    throws
  {
    let (a, b) = (try node("a"), try node("b"))
    a.whenDeleted = { $0.parts = [b] }
    try a.delete()
    #expect(b.isDeleted && b.notes == ["will delete b"])
    #expect(try !exists("a") && !exists("b"))
  }

  @Test func `models deleted in willDelete are deleted in the same transaction`() throws {
    context.undoLimit = 1
    let (a, b) = (try node("a"), try node("b"))
    let sequence = try database.snapshot().sequence
    a.whenDeleted = { a in
      try b.delete()
      // Deleting the model itself again has no effect.
      try a.delete()
      #expect(!b.isDeleted)
    }
    try a.delete()
    #expect(a.error == nil && a.isDeleted && b.isDeleted)
    #expect(a.notes == ["will delete a"] && b.notes == ["will delete b"])
    #expect(try database.snapshot().sequence > sequence)
    try context.undo()
    #expect(try exists("a") && exists("b"))
    #expect(!a.isDeleted && !b.isDeleted)
  }

  @Test func `a deletion in willDelete that a rule denies stops the whole deletion`() throws {
    let (a, b, c) = (try node("a"), try node("b"), try node("c"))
    b.keeper = c
    try b.save()
    a.whenDeleted = { _ in try b.delete() }
    #expect(code { try a.delete() } == .deleteDenied)
    #expect(a.error == nil && !a.isDeleted && !b.isDeleted)
    // The refused deletion left no state behind.
    a.whenDeleted = { _ in }
    try a.delete()
    #expect(a.isDeleted && !b.isDeleted)
    #expect(try exists("b"))
  }

  @Test func `changes to other models in willDelete are unsaved until the next save`() throws {
    let (a, b) = (try node("a"), try node("b"))
    a.whenDeleted = { _ in b.count -= 1 }
    try a.delete()
    #expect(context.unsavedModels == [b])
    try context.save()
    #expect(try database.snapshot().document("b")?["count"] == -1)
  }

  @Test func `saving in willDelete throws, and the deletion continues`() throws {
    let (a, b) = (try node("a"), try node("b"))
    a.whenDeleted = { _ in
      b.count = 1
      try b.save()
    }
    try a.delete()
    #expect((a.error as? DatabaseError)?.code == .nestedWrite && a.isDeleted)
    #expect(context.unsavedModels == [b])
    try b.save()
    #expect(try database.snapshot().document("b")?["count"] == 1)
  }

  @Test func `willDelete runs again when a failed deletion is retried`() throws {
    let a = try node("a")
    try database.put("a", #"{"name": "other"}"#)
    #expect(code { try a.delete() } == .conflict)
    #expect(!a.isDeleted && a.notes == ["will delete a"])
    try context.refresh()
    try a.delete()
    #expect(a.isDeleted && a.notes == ["will delete a", "will delete a"])
  }

  @Test func `a model that is found deleted by a refresh in willDelete is not deleted again`()
    throws
  {
    let a = try node("a")
    a.whenDeleted = { [database, context] _ in
      try database.remove("a")
      try context.refresh()
    }
    let sequence = try database.snapshot().sequence
    try a.delete()
    #expect(a.error == nil && a.isDeleted)
    #expect(try database.snapshot().sequence == sequence + 1)
  }

  @Test func `willDelete does not run where nothing can be deleted`() throws {
    _ = try node("a")
    try database.snapshot().models { context in
      let a = try #require(try context.model(Node.self, id: "a"))
      #expect(code { try a.delete() } == .readOnly)
      #expect(a.notes == [])
    }
  }

  @Test func `willDelete runs for a model that another one deletes in willSave`() throws {
    let (a, b) = (try node("a"), try node("b"))
    a.count = 1
    final class Deleting: Model {
      @Persisted var text: String
      var other: Model?
      override func willSave(_ changedProperties: [String]) { try? other?.delete() }
      override class var documentType: String? { nil }
    }
    let deleting = Deleting(in: context, id: "d")
    deleting.other = b
    try context.save()
    #expect(b.isDeleted && b.notes == ["will delete b"])
    #expect(try exists("d") && !exists("b"))
  }

  @Test
  func `a nested rollback restores the models that willDelete deleted`()
    throws
  {
    struct Stop: Error {}
    let (a, b) = (try node("a"), try node("b"))
    _ = (a, b)
    try database.write { transaction in
      let context = transaction.models
      let (a, b) = (
        try #require(try context.model(Node.self, id: "a")),
        try #require(try context.model(Node.self, id: "b"))
      )
      a.whenDeleted = { _ in try b.delete() }
      #expect(throws: Stop.self) {
        try transaction.savepoint {
          try a.delete()
          #expect(a.isDeleted && b.isDeleted)
          throw Stop()
        }
      }
      #expect(!a.isDeleted && !b.isDeleted)
    }
    #expect(try exists("a") && exists("b"))
  }
}
