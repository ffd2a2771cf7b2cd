import Foundation
import Observation
import ProofKit
import Testing

@testable import Divan

/// Tests of models whose transaction is rolled back, completely or to a savepoint.
struct ModelRollbackTests {
  let database: Database

  init() throws {
    database = try Database.inMemory()
    try database.put("t", #"{"text": "x", "done": false, "priority": 1}"#)
  }

  private struct Failure: Error {}

  /// Runs a closure in a nested transaction that is then rolled back.
  private func rollingBack(
    _ transaction: WriteTransaction, _ body: () throws -> Void
  ) throws {
    #expect(throws: Failure.self) {
      try transaction.savepoint {
        try body()
        throw Failure()
      }
    }
  }

  private final class Counter: Model {
    @Persisted var mine: Int
    @Persisted var theirs: Int
    override class var documentType: String? { nil }
  }

  private final class Member: Model {
    @Inverse(\Club.members, onDelete: .nullify) var clubs: [Club]
    @Inverse(\Club.chair, onDelete: .nullify) var chaired: [Club]
    override class var documentType: String? { "member" }
  }

  private final class Club: Model {
    @Persisted var members: [Member]
    @Persisted var chair: Member?
    override class var documentType: String? { "club" }
  }

  // MARK: Saved models

  @Test func `rolling back a nested transaction makes its saved models unsaved with their values`()
    throws
  {
    try database.write { transaction in
      let context = transaction.models
      let todo = try #require(try context.model(Todo.self, id: "t"))
      let new = Todo(in: context, id: "new")
      (new.text, new.due, new.tags) = ("n", Date(timeIntervalSince1970: 1), ["a"])
      new.list = TodoList(in: context, id: "l")
      (todo.text, todo.priority) = ("y", 2)
      #expect(throws: Failure.self) {
        try transaction.savepoint {
          try context.save()
          #expect(!todo.needsSave && !new.isNew)
          todo.done = true
          todo.text = "later"
          throw Failure()
        }
      }
      #expect(try transaction.document("t")?["text"] == "x")
      #expect(try !transaction.exists("new"))
      #expect(todo.changedProperties == ["text", "done", "priority"])
      #expect(todo.text == "later" && todo.priority == 2 && todo.done)
      #expect(new.isNew && new.text == "n" && new.due == Date(timeIntervalSince1970: 1))
      #expect(new.tags == ["a"] && new.list?.id == "l" && new.list?.isNew == true)
      #expect(context.unsavedModels.count == 3)
      try context.save()
    }
    let stored = try database.read { try $0.document("t")?.properties }
    #expect(stored?["text"] == "later" && stored?["priority"] == 2 && stored?["done"] == true)
    #expect(try database.read { try $0.document("new")?["list"] } == "l")
  }

  @Test func `rolling back a nested deletion restores its models and their references`() throws {
    try database.write { transaction in
      let context = transaction.models
      let owner = ModelScopeTests.Owner(in: context, id: "o")
      let thing = ModelScopeTests.Thing(in: context, id: "a")
      thing.owner = owner
      try context.save()
      #expect(throws: Failure.self) {
        try transaction.savepoint {
          try owner.delete()
          #expect(thing.owner == nil)
          throw Failure()
        }
      }
      #expect(!owner.isDeleted && thing.owner === owner && !thing.needsSave)
      #expect(try context.model(ModelScopeTests.Owner.self, id: "o") === owner)
    }
    #expect(try database.read { try $0.document("a")?["owner"] } == "o")
  }

  @Test
  func `undo works in a transaction, and a nested rollback restores the undo history`()
    throws
  {
    try database.write { transaction in
      let context = transaction.models
      context.undoLimit = 10
      let todo = try #require(try context.model(Todo.self, id: "t"))
      todo.text = "y"
      try todo.save()
      #expect(try context.undo())
      #expect(todo.text == "x" && context.canRedo)
      #expect(throws: Failure.self) {
        try transaction.savepoint {
          try context.redo()
          #expect(todo.text == "y" && !context.canRedo)
          throw Failure()
        }
      }
      #expect(todo.text == "x" && context.canRedo && !context.canUndo)
    }
    #expect(try database.read { try $0.document("t")?["text"] } == "x")
  }

  @Test func `observers are notified when a merged-in value is rolled back`() throws {
    try database.put("c", #"{"mine": 1, "theirs": 1}"#)
    try database.write { transaction in
      let counter = try #require(try transaction.models.model(Counter.self, id: "c"))
      let notifications = Recorder<String>()
      try rollingBack(transaction) {
        _ = try transaction.replace("c", with: ["mine": 1, "theirs": 2])
        counter.mine = 2
        try counter.save()
        #expect(counter.theirs == 2)
        withObservationTracking {
          _ = counter.theirs
        } onChange: {
          notifications.append("theirs")
        }
      }
      #expect(notifications.all == ["theirs"])
      #expect(counter.theirs == 1 && counter.mine == 2)
    }
  }

  @Test func `a nested rollback keeps what was saved before the nested transaction`() throws {
    try database.write { transaction in
      let todo = try #require(try transaction.models.model(Todo.self, id: "t"))
      todo.text = "y"
      try todo.save()
      try rollingBack(transaction) {
        todo.priority = 2
        try todo.save()
        todo.done = true
        try todo.save()
      }
      #expect(todo.changedProperties == ["done", "priority"] && todo.text == "y")
      #expect(try transaction.document("t")?["text"] == "y")
    }
  }

  @Test func `rolling back a transaction makes every change that it saved unsaved`() throws {
    var kept: Todo?
    #expect(throws: Failure.self) {
      try database.write { transaction in
        let todo = try #require(try transaction.models.model(Todo.self, id: "t"))
        todo.text = "y"
        try todo.save()
        try transaction.savepoint {
          todo.priority = 2
          try todo.save()
        }
        todo.text = "z"
        try todo.save()
        kept = todo
        throw Failure()
      }
    }
    #expect(kept?.changedProperties == ["text", "priority"])
    #expect(kept?.text == "z" && kept?.priority == 2 && kept?.isNew == false)
  }

  @Test func `a completed nested transaction is rolled back with the one around it`() throws {
    try database.write { transaction in
      let todo = try #require(try transaction.models.model(Todo.self, id: "t"))
      try rollingBack(transaction) {
        try transaction.savepoint {
          todo.text = "y"
          try todo.save()
        }
        #expect(!todo.needsSave)
      }
      #expect(todo.changedProperties == ["text"] && todo.text == "y")
    }
  }

  @Test func `a transaction does not retain models that were saved in it`() throws {
    try database.write { transaction in
      weak var saved: Todo?
      for number in 0..<3 {
        let todo = Todo(in: transaction.models, id: "n\(number)")
        try todo.save()
        if number == 0 { saved = todo }
      }
      #expect(saved == nil)
    }
  }

  @Test
  func `rolling back a nested transaction makes its saved models unsaved, even released ones`()
    throws
  {
    try database.write { transaction in
      try rollingBack(transaction) {
        let todo = Todo(in: transaction.models, id: "new")
        todo.text = "n"
        try todo.save()
      }
      #expect(transaction.models.unsavedModels.map(\.id) == ["new"])
      #expect((transaction.models.unsavedModels.first as? Todo)?.text == "n")
    }
  }

  @Test func `a context made in a nested transaction is rolled back with it`() throws {
    try database.write { transaction in
      var made: ModelContext?
      try rollingBack(transaction) {
        let context = transaction.makeContext()
        Todo(in: context, id: "new").text = "n"
        try context.save()
        made = context
      }
      #expect(made?.unsavedModels.map(\.id) == ["new"])
    }
  }

  // MARK: External changes

  private final class Note: Model {
    @Persisted var text: String
    @Persisted var priority: Int
    override class var documentType: String? { nil }
  }

  @Test func `a nested rollback notifies observers of merged-in values and keeps local changes`()
    throws
  {
    try database.write { transaction in
      let note = try #require(try transaction.models.model(Note.self, id: "t"))
      let notifications = Recorder<Int>()
      try rollingBack(transaction) {
        try transaction.update("t") { $0["priority"] = 5 }
        note.text = "y"
        try note.save()
        #expect(note.priority == 5)
        withObservationTracking {
          _ = note.priority
        } onChange: {
          notifications.append(1)
        }
      }
      #expect(note.priority == 1 && note.text == "y" && !notifications.all.isEmpty)
    }
  }

  @Test
  func `a nested rollback restores local values that lost a conflict`() throws {
    try database.write { transaction in
      let context = transaction.models
      context.conflictHandler = { _ in .theirs }
      let todo = try #require(try context.model(Todo.self, id: "t"))
      try rollingBack(transaction) {
        try transaction.update("t") { $0["text"] = "theirs" }
        todo.text = "mine"
        try todo.save()
        #expect(todo.text == "theirs")
        todo.done = true
        try todo.save()
      }
      #expect(todo.text == "mine" && todo.done && todo.changedProperties == ["text", "done"])
      try todo.save()
      #expect(try transaction.document("t")?["text"] == "mine")
    }
  }

  // MARK: Rollback entries

  @Test
  func `completed nested transactions share one rollback entry and are rolled back`()
    throws
  {
    var kept: Todo?
    #expect(throws: Failure.self) {
      try database.write { transaction in
        let todo = try #require(try transaction.models.model(Todo.self, id: "t"))
        for priority in 5..<10 {
          try transaction.savepoint {
            todo.priority = priority
            try todo.save()
          }
        }
        #expect(todo.rollbackEntry != nil && todo.rollbackEntry?.previous == nil)
        try rollingBack(transaction) {
          for text in ["a", "b", "c"] {
            try transaction.savepoint {
              todo.text = text
              try todo.save()
            }
          }
          #expect(
            todo.rollbackEntry?.previous != nil && todo.rollbackEntry?.previous?.previous == nil)
        }
        #expect(todo.changedProperties == ["text"] && todo.text == "c" && todo.priority == 9)
        #expect(try transaction.document("t")?["text"] == "x")
        #expect(try transaction.document("t")?["priority"] == 9)
        kept = todo
        throw Failure()
      }
    }
    #expect(kept?.changedProperties == ["text", "priority"])
    #expect(kept?.text == "c" && kept?.priority == 9)
  }

  @Test func `releasing a long chain of rollback entries needs no deep stack`() {
    var last: RollbackEntry? = RollbackEntry(.deletion(.stored), 0, after: nil)
    weak let first = last
    for number in 1...100_000 {
      last = RollbackEntry(.deletion(.stored), number, after: last)
    }
    #expect(first != nil && last?.number == 100_000)
    last = nil
    #expect(first?.number == nil)
  }

  @Test func `an undo limit set in a nested transaction stays after its rollback`() throws {
    try database.write { transaction in
      let context = transaction.models
      let todo = try #require(try context.model(Todo.self, id: "t"))
      try rollingBack(transaction) {
        context.undoLimit = 10
        todo.text = "y"
        try todo.save()
      }
      #expect(context.undoLimit == 10 && !context.canUndo)
      for text in ["a", "b"] {
        todo.text = text
        try todo.save()
      }
      try rollingBack(transaction) { context.undoLimit = 1 }
      #expect(context.undoLimit == 1)
      #expect(try context.undo())
      #expect(todo.text == "a" && !context.canUndo)
    }
  }

  // MARK: Deleted models

  @Test
  func `rolling back a deletion restores the references in unsaved models`()
    throws
  {
    try database.write { transaction in
      let context = transaction.models
      let (a, b) = (Member(in: context, id: "a"), Member(in: context, id: "b"))
      try context.save()
      let (club, other) = (Club(in: context, id: "c"), Club(in: context, id: "d"))
      (club.members, club.chair) = ([a, b], a)
      other.members = [a, b]
      try rollingBack(transaction) {
        try a.delete()
        #expect(club.members == [b] && club.chair == nil && other.members == [b])
        other.members = []
      }
      #expect(club.members == [a, b] && club.chair === a && club.isNew)
      // Later changes stay.
      #expect(other.members.isEmpty)
      try context.save()
    }
    #expect(try database.snapshot().document("c")?["members"] == ["a", "b"])
    #expect(try database.snapshot().document("c")?["chair"] == "a")
  }

  @Test func `rolling back the deletion of a new model makes it new and unsaved again`() throws {
    try database.write { transaction in
      let todo = Todo(in: transaction.models, id: "new")
      todo.text = "n"
      try rollingBack(transaction) { try todo.delete() }
      #expect(todo.isNew && todo.text == "n" && transaction.models.unsavedModels == [todo])
    }
  }

  // MARK: Loaded models

  @Test
  func `models loaded or refreshed before a nested rollback show the state after it`()
    throws
  {
    try database.put("u", #"{"text": "u"}"#)
    try database.write { transaction in
      let context = transaction.models
      let refreshed = try #require(try context.model(Todo.self, id: "t"))
      var (loaded, made): (Todo?, Todo?)
      try rollingBack(transaction) {
        for id in ["t", "u"] { try transaction.update(id) { $0["text"] = "y" } }
        try transaction.put(Document(id: "new", ["text": "n"]))
        try context.refresh()
        (loaded, made) = (
          try context.model(Todo.self, id: "u"), try context.model(Todo.self, id: "new")
        )
        #expect(refreshed.text == "y" && loaded?.text == "y" && made?.text == "n")
      }
      #expect(refreshed.text == "x" && loaded?.text == "u" && made?.isDeleted == true)
      #expect(!refreshed.needsSave && loaded?.needsSave == false)
    }
  }

  @Test func `a local change of a value that was rolled back is no conflict`() throws {
    try database.write { transaction in
      let todo = try #require(try transaction.models.model(Todo.self, id: "t"))
      try rollingBack(transaction) {
        try transaction.update("t") { $0["text"] = "y" }
        try transaction.models.refresh()
        todo.text = "mine"
      }
      #expect(todo.changedProperties == ["text"])
      try todo.save()
      #expect(try transaction.document("t")?["text"] == "mine")
    }
  }

  @Test
  func `a model refreshed in an inner rollback is restored by the outer one`()
    throws
  {
    try database.write { transaction in
      let context = transaction.models
      let todo = try #require(try context.model(Todo.self, id: "t"))
      try rollingBack(transaction) {
        try transaction.update("t") { $0["text"] = "y" }
        try rollingBack(transaction) { _ = try context.refresh() }
        #expect(todo.text == "y")
      }
      #expect(todo.text == "x" && !todo.needsSave)
    }
  }

  @Test func `a nested rollback restores read attachments and keeps locally changed ones`() throws {
    func attachment(_ text: String) -> Document.Attachment {
      Document.Attachment(contentType: "text/plain", Array(text.utf8))
    }
    try database.put("u", "{}")
    try database.write { transaction in
      let context = transaction.models
      let read = try #require(try context.model(Todo.self, id: "t"))
      let changed = try #require(try context.model(Todo.self, id: "u"))
      try transaction.update("u") { $0.attachments["note"] = attachment("first") }
      try rollingBack(transaction) {
        try transaction.update("t") { $0.attachments["note"] = attachment("taken back") }
        try transaction.update("u") { $0.attachments["note"] = nil }
        #expect(read.attachments["note"] != nil && changed.attachments.isEmpty)
        changed.attachments["note"] = attachment("mine")
      }
      #expect(read.attachments.isEmpty && !read.needsSave)
      try changed.save()
    }
    let stored = try #require(try database.snapshot().document("u")?.attachments["note"])
    #expect(try stored.data() == Data("mine".utf8))
  }

  private final class Echo: Model {
    @Persisted var text: String
    @Persisted var copy: String
    var isSaving = false

    override func didLoad() {
      guard isSaving else { return }
      copy = text
      do { try save() } catch { Issue.record(error) }
    }
    override class var documentType: String? { nil }
  }

  @Test func `a save in a didLoad hook during a rollback is kept`() throws {
    try database.write { transaction in
      let echo = try #require(try transaction.models.model(Echo.self, id: "t"))
      echo.isSaving = true
      try rollingBack(transaction) {
        try transaction.update("t") { $0["text"] = "y" }
        try transaction.models.refresh()
        #expect(try transaction.document("t")?["copy"] == "y")
      }
      #expect(echo.text == "x" && echo.copy == "x" && !echo.needsSave)
      #expect(try transaction.document("t")?["copy"] == "x")
    }
    #expect(try database.snapshot().document("t")?["copy"] == "x")
  }

  // MARK: After the scope

  @Test func `a model or context kept after its transaction does not retain the transaction`()
    throws
  {
    weak var over: WriteTransaction?
    var (todo, context): (Todo?, ModelContext?)
    try database.write { transaction in
      over = transaction
      context = transaction.models
      todo = try context?.model(Todo.self, id: "t")
    }
    #expect(over == nil && todo?.text == "x")
    #expect(code { try context?.refresh() } == .closed)
    #expect(code { _ = try context?.snapshot } == .closed)
    #expect(code { try todo?.delete() } == .closed)
    let late = try #require(context.map { Todo(in: $0) })
    #expect(!late.id.isEmpty)
    #expect(code { try late.save() } == .closed)
  }

  @Test func `a finished transaction returns a closed context and retains none`() throws {
    var kept: WriteTransaction?
    try database.write { kept = $0 }
    let transaction = try #require(kept)
    weak let context = transaction.models
    #expect(context == nil)
    let other = transaction.models
    #expect(code { _ = try other.model(Todo.self, id: "t") } == .closed)
    #expect(code { try Todo(in: other).save() } == .closed)
    #expect(other.database == nil)
  }

  @Test func `a context kept after its snapshot's closure does not retain the snapshot`() throws {
    var kept: ModelContext?
    try database.snapshot().models { kept = $0 }
    let context = try #require(kept)
    #expect(context.core.snapshot == nil)
    if case .snapshot = context.core.source { Issue.record("the context retains the snapshot") }
    #expect(code { try Todo(in: context).save() } == .closed)
  }
}
