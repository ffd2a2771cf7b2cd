import Divan
import DivanTesting
import Foundation
import TestSupport
import Testing

/// Tests that run the examples of models, their properties and what finds them.
struct ModelClassExampleTests {
  @Test func `a model is made and saved`() throws {
    let database = try Database.inMemory()
    class Todo: Model {
      @Persisted var text: String
      @Persisted var done = false
    }
    let context = database.makeContext()
    let todo = Todo(in: context)
    todo.text = "Buy milk"
    try todo.save()
    #expect(try database.snapshot().document(todo.id)?["text"] == "Buy milk")
  }

  class TodoList: Model {
    @Persisted var name: String
  }

  class Person: Model {
    @Persisted var name: String
  }

  class Todo: Model {
    @Persisted var text: String  // stored under "text"; initially empty
    @Persisted(key: "due_date") var due: Date?  // stored under another key
    @Persisted var tags = ["new"]  // with an initial value
    @Persisted var list: TodoList?  // a reference to another model
    @Persisted var watchers: [Person]  // references to several models
    @Persisted(index: .value) var priority = 3  // indexed, for finding and sorting
  }

  @Test func `properties are stored`() throws {
    let database = try Database.inMemory(schema: Schema(Todo.self, TodoList.self, Person.self))
    let context = database.makeContext()
    let todo = Todo(in: context, id: "todo:1")
    todo.text = "Buy milk"
    todo.due = Date(timeIntervalSince1970: 0)
    let ann = Person(in: context, id: "ann")
    todo.watchers = [ann]
    try context.save()
    let document = try #require(try database.snapshot().document("todo:1"))
    #expect(document["due_date"] == "1970-01-01T00:00:00.000Z")
    #expect(document["priority"] == 3 && todo.tags == ["new"])
    let found = try context.find(Query<Todo>().filter { $0.priority == 3 })
    #expect(found == [todo] && found[0].watchers == [ann])
  }

  @Test func `an inverse finds the films of a person`() throws {
    let database = try Database.inMemory()
    class Film: Model {
      @Persisted var director: Person?
      @Persisted var cast: [Person]
    }
    class Person: Model {
      @Inverse(\Film.director, onDelete: .nullify) var directed: [Film]
      @Inverse(\Film.cast) var films: [Film]
    }
    try database.addIndexes(for: Person.self)
    let context = database.makeContext()
    let lang = Person(in: context)
    let film = Film(in: context)
    film.director = lang
    try context.save()
    #expect(lang.directed == [film] && lang.films.isEmpty)
  }

  enum Shows {
    class Show: Model {
      @Persisted var title: String
    }

    class Film: Show {}

    class Series: Show {}

    static func show(_ id: String, in database: Database) throws -> Show? {
      let registry = try ModelRegistry(Film.self, Series.self)  // both are subclasses of Show
      let context = database.makeContext(registry)
      let show = try context.model(Show.self, id: id)  // a Film, or a Series
      return show
    }
  }

  @Test func `a registry decides the class of a document`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      try transaction.put(Document(id: "m", ["type": "Film", "title": "Metropolis"]))
      try transaction.put(Document(id: "h", ["type": "Series", "title": "Heimat"]))
    }
    #expect(try Shows.show("m", in: database) is Shows.Film)
    #expect(try Shows.show("h", in: database) is Shows.Series)
  }

  @Test func `a query has a filter, an order and a limit`() throws {
    class Todo: Model {
      @Persisted var done = false
      @Persisted var due: Date?
      @Persisted var tags: [String]
    }
    let context = try Database.inMemory().makeContext()
    let todo = Todo(in: context)
    todo.tags = ["home"]
    try context.save()
    let query = Query<Todo>()
      .filter { $0.done == false && $0.tags.contains("home") }
      .sorted(by: \.due)
      .limit(20)
    let todos = try context.find(query)
    #expect(todos == [todo])
  }

  @Test func `an event is handled by its kind`() throws {
    let disk = SimulatedDisk()
    var configuration = disk.configuration()
    configuration.eventHandler = DatabaseEvent.Handler { event in
      switch event.kind {
      case .slowQuery: print(event.message, event.query?.text ?? "")
      case .maintenanceFailed, .damageFound, .writingStopped: print("Attention:", event)
      default: break
      }
    }
    let database = try Database(at: "/Notes.divan", configuration: configuration)
    #expect(try database.snapshot().count == 0)
    try database.close()
  }

  @Test func `the text of a database is compared with a file`() throws {
    let database = try Database.inMemory()
    let folder = URL(filePath: #filePath).deletingLastPathComponent().path
    #expect(throws: DocumentTextFailure.missing(file: folder + "/Expected/trips.txt")) {
      let text = try DocumentText(of: database)
      try text.requireEqual(toFile: "Expected/trips.txt")
    }
  }
}
