import Divan
import Foundation
import Synchronization
import Testing

/// Tests of a context's queries that return values, and of updates and deletions by query.
struct ModelQueryTests {
  private class Job: Model {
    @Persisted var title: String
    @Persisted var priority = 0
    @Persisted var isDone = false
    @Persisted var owner: Worker?
    override class var documentType: String? { "job" }
    override func validate(_ validation: inout ModelValidation) {
      validation.require(priority >= 0, "Nothing is less than unimportant", property: "priority")
    }
  }

  private final class Rush: Job {
    override class var documentType: String? { "rush" }
  }

  private final class Worker: Model {
    @Persisted var name: String
    @Inverse(\Job.owner, onDelete: .nullify) var jobs: [Job]
    override class var documentType: String? { "worker" }
  }

  private final class Step: Model {
    @Persisted var after: Step?
    @Inverse(\Step.after, onDelete: .deny) var next: [Step]
    override class var documentType: String? { "step" }
  }

  /// A model that changes itself after it is saved, a given number of times.
  private final class Echo: Model {
    @Persisted var times: Int
    @Persisted var last: Int
    override class var documentType: String? { "echo" }
    override func didSave() { if times < last { times += 1 } }
  }

  private struct Stop: Error {}

  private let database: Database
  private let registry: ModelRegistry
  private let context: ModelContext
  private let urgent = Query<Job>().filter { $0.priority > 3 }

  /// Stores six jobs from `j0` to `j5` with these priorities; the last one is a rush job.
  init() throws {
    database = try Database.inMemory()
    registry = try ModelRegistry(Job.self, Rush.self, Worker.self, Step.self)
    context = database.makeContext(registry)
    for number in 0..<6 {
      let job = number == 5 ? Rush(in: context, id: "j5") : Job(in: context, id: "j\(number)")
      job.title = "Job \(number)"
      job.priority = number
      job.isDone = number % 2 == 0
    }
    try context.save()
  }

  /// Returns the stored priorities in the order of the IDs.
  private func priorities() throws -> [Int] {
    try database.makeContext(registry).values(Query<Job>(), { $0.priority })
  }

  // MARK: Querying

  @Test func `a context answers all queries of a snapshot and includes registered subclasses`()
    throws
  {
    let all = Query<Job>()
    try #require(try context.model(Job.self, id: "j0")).priority = 100
    _ = Job(in: context)
    #expect(try context.ids(all.sorted(by: \.priority, .descending).limit(2)) == ["j5", "j4"])
    #expect(try context.count(all) == 6 && context.exists(urgent))
    #expect(try context.sum(all) { $0.priority } == 15)
    #expect(try context.average(all) { $0.priority } == 2.5)
    #expect(try context.minimum(all) { $0.title } == "Job 0")
    #expect(try context.maximum(all) { $0.priority } == 5)
    #expect(try context.aggregate(urgent, .count, .sum { $0.priority }) == (2, 9))
    let groups = try context.groups(all, by: { $0.isDone }, .count, .maximum { $0.priority })
    #expect(groups.map(\.key) == [false, true] && groups.map(\.1) == [3, 3])
    #expect(groups.map(\.2) == [5, 4])
    #expect(try context.distinct(urgent) { $0.isDone } == [false, true])
    let rows = try context.values(urgent, { $0.title }, { $0.priority })
    #expect(rows.map(\.0) == ["Job 4", "Job 5"] && rows.map(\.1) == [4, 5])
    #expect(try context.explain(urgent).results == 2)
    #expect(try context.ids(Query<Rush>()) == ["j5"])
    #expect(try context.find(Query<Document>()).count == 6)
    // Without a registry, only documents of exactly this type count.
    #expect(try database.makeContext().sum(all) { $0.priority } == 10)
  }

  @Test func `queries of a transaction's context include the changes of the transaction`() throws {
    try database.write { transaction in
      let models = transaction.makeContext(registry)
      try transaction.put(Document(id: "new", ["type": "rush", "priority": 20]))
      #expect(try models.maximum(Query<Job>()) { $0.priority } == 20)
      #expect(try models.ids(urgent) == ["j4", "j5", "new"])
    }
  }

  private final class Counted: Model {
    static let made = Atomic(0)
    @Persisted var text: String
    @Persisted var size = 0
    var shout: String { text.uppercased() }
    required init() {
      Counted.made.add(1, ordering: .relaxed)
      super.init()
    }
    override class var documentType: String? { nil }
  }

  @Test func `key paths are resolved only once, even those of properties that are not stored`()
    throws
  {
    func makeQueries() -> Query<Counted> {
      _ = Query<Counted>().filter { $0.text == "a" && $0.id != "b" }.sorted(by: \.size)
      return Query<Counted>().filter { $0.shout == "A" }
    }
    #expect(code { _ = try context.find(makeQueries()) } == .invalidQuery)
    let made = Counted.made.load(ordering: .relaxed)
    #expect(made > 0)
    for _ in 0..<10 {
      #expect(code { _ = try context.find(makeQueries()) } == .invalidQuery)
    }
    let madeNow = Counted.made.load(ordering: .relaxed)
    #expect(madeNow == made)
  }

  // MARK: Changing

  @Test func `updating by query changes all matches, including subclasses and loaded models`()
    throws
  {
    let loaded = try #require(try context.model(Job.self, id: "j5"))
    let count = try context.update(urgent) { job in
      job.priority += 10
      job.title = "\(type(of: job))"
    }
    #expect(count == 2)
    #expect(loaded.priority == 15 && loaded.title == "Rush" && !loaded.needsSave)
    #expect(try priorities() == [0, 1, 2, 3, 14, 15])
    #expect(try context.ids(Query<Job>().filter { $0.title == "Job" }) == ["j4"])
  }

  @Test func `if an update by query throws, none of its changes stay`() throws {
    try database.write { transaction in
      for number in 100..<400 {
        _ = try transaction.put(Document(id: "j\(number)", ["type": "job", "priority": 7]))
      }
    }
    let many = Query<Job>().filter { $0.priority == 7 }
    var left = 290
    #expect(throws: Stop.self) {
      try context.update(many) { job in
        job.priority = 8
        left -= 1
        if left == 0 { throw Stop() }
      }
    }
    #expect(left == 0)
    #expect(try database.makeContext(registry).count(many) == 300)
    #expect(try context.update(many) { $0.priority = 8 } == 300)
    #expect(try context.count(many) == 0)
  }

  @Test func `if one model of an update by query is invalid, none is saved`() throws {
    #expect(code { try context.update(urgent) { $0.priority -= 5 } } == .invalidModel)
    #expect(try priorities() == [0, 1, 2, 3, 4, 5])
  }

  @Test func `updating by query keeps the unsaved changes of loaded models`()
    throws
  {
    let (titled, raised) = (
      try #require(try context.model(Job.self, id: "j4")),
      try #require(try context.model(Job.self, id: "j5"))
    )
    let other = try #require(try context.model(Job.self, id: "j0"))
    titled.title = "Mine"
    raised.priority = 6
    // The query reads the stored value.
    other.priority = 9
    #expect(try context.update(urgent) { $0.priority += 10 } == 2)
    #expect(titled.title == "Mine" && titled.priority == 14 && titled.needsSave)
    try titled.save()
    #expect(try database.snapshot().document("j4")?["title"] == "Mine")
    #expect(raised.priority == 6 && code { try raised.save() } == .conflict)
    #expect(try priorities() == [0, 1, 2, 3, 14, 15])
    raised.revert()
    #expect(raised.priority == 15 && other.priority == 9)
  }

  @Test func `an update by query may refer to models of the context and create new ones`() throws {
    let ada = Worker(in: context, id: "ada")
    try ada.save()
    #expect(try context.update(urgent) { $0.owner = ada } == 2)
    #expect(ada.jobs.map(\.id) == ["j4", "j5"])
    try context.update(Query<Job>().filter { $0.priority == 1 }) { job in
      let bob = Worker()
      bob.name = "Bob"
      job.owner = bob
    }
    #expect(try context.model(Job.self, id: "j1")?.owner?.name == "Bob")
  }

  @Test func `changes of didSave during an update by query are saved with it`() throws {
    try database.put("echo", #"{"last": 3, "times": 0, "type": "echo"}"#)
    let context = database.makeContext()
    context.undoLimit = 1
    #expect(try context.update(Query<Echo>()) { $0.times = 1 } == 1)
    #expect(try database.snapshot().document("echo")?["times"] == 3)
    try context.undo()
    #expect(try database.snapshot().document("echo")?["times"] == 0)
    // An endless loop of saves is reported as an error, and nothing is changed.
    #expect(code { try context.update(Query<Echo>()) { $0.last = 100 } } == .invalidModel)
    #expect(try database.snapshot().document("echo")?["last"] == 3)
  }

  @Test func `a model kept after an update by query can be read but not saved`() throws {
    var kept: Job?
    try context.update(urgent) { kept = $0 }
    #expect(kept?.title == "Job 5")
    kept?.title = "Late"
    #expect(code { try kept?.save() } == .closed)
  }

  @Test func `saving with the context during an update by query throws, and nothing changes`()
    throws
  {
    let other = Job(in: context, id: "other")
    let refused = code {
      try context.update(urgent) { job in
        job.priority = 50
        try other.save()
      }
    }
    #expect(refused == .nestedWrite)
    #expect(other.isNew)
    #expect(try priorities() == [0, 1, 2, 3, 4, 5])
  }

  @Test func `an update or deletion by query is undone and redone as a whole`() throws {
    context.undoLimit = 5
    try context.update(urgent) { $0.priority = 50 }
    #expect(try context.undo())
    #expect(try priorities() == [0, 1, 2, 3, 4, 5])
    #expect(try context.redo())
    #expect(try priorities() == [0, 1, 2, 3, 50, 50])
    try context.delete(urgent)
    #expect(try context.undo())
    #expect(try priorities() == [0, 1, 2, 3, 50, 50])
  }

  // MARK: Deleting

  @Test func `deleting by query deletes all matches and applies delete rules`() throws {
    let jobs = try context.find(urgent)
    let (ada, bob) = (Worker(in: context, id: "ada"), Worker(in: context, id: "bob"))
    (jobs[0].owner, jobs[1].owner) = (ada, bob)
    try context.save()
    #expect(try context.delete(Query<Worker>()) == 2)
    #expect(ada.isDeleted && bob.isDeleted && jobs[0].owner == nil)
    #expect(try database.snapshot().document("j5")?["owner"] == nil)
    #expect(try context.delete(urgent) == 2)
    #expect(jobs[0].isDeleted && jobs[1].isDeleted)
    #expect(try priorities() == [0, 1, 2, 3])
    #expect(try context.delete(urgent) == 0)
  }

  @Test func `deny rules stop a deletion by query only for references from models that stay`()
    throws
  {
    let steps = ["a", "b", "c"].map { Step(in: context, id: $0) }
    (steps[1].after, steps[2].after) = (steps[0], steps[1])
    try context.save()
    let firstTwo = Query<Step>().filter { $0.id.isIn(["a", "b"]) }
    #expect(code { try context.delete(firstTwo) } == .deleteDenied)
    #expect(try context.count(Query<Step>()) == 3 && !steps[0].isDeleted)
    #expect(try context.delete(Query<Step>()) == 3)
    #expect(try context.count(Query<Step>()) == 0)
  }

  @Test func `if a match was changed externally, none is deleted by query until a refresh`()
    throws
  {
    try database.write { _ = try $0.update("j4") { $0["title"] = "Changed" } }
    #expect(code { try context.delete(urgent) } == .conflict)
    #expect(try priorities() == [0, 1, 2, 3, 4, 5])
    try context.refresh()
    #expect(try context.delete(urgent) == 2)
  }

  // MARK: In transactions and snapshots

  @Test func `updates and deletions by query roll back with their transaction`() throws {
    try database.write { transaction in
      let models = transaction.makeContext(registry)
      let loaded = try #require(try models.model(Job.self, id: "j4"))
      #expect(try models.update(urgent) { $0.priority += 10 } == 2)
      #expect(loaded.priority == 14)
      #expect(throws: Stop.self) {
        try transaction.savepoint {
          try models.update(urgent) { $0.priority = 100 }
          #expect(loaded.priority == 100)
          try models.delete(urgent)
          #expect(loaded.isDeleted)
          throw Stop()
        }
      }
      #expect(loaded.priority == 14 && !loaded.isDeleted && !loaded.needsSave)
      #expect(try models.delete(Query<Job>().filter { $0.priority < 2 }) == 2)
    }
    #expect(try priorities() == [2, 3, 14, 15])
  }

  @Test func `updating or deleting by query in a snapshot throws`() throws {
    try database.snapshot().models(registry) { models in
      #expect(code { try models.update(urgent) { $0.priority = 9 } } == .readOnly)
      #expect(code { try models.delete(urgent) } == .readOnly)
    }
  }
}
