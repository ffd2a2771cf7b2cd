import Foundation
import TestSupport
import Testing

/// Tests of programs that must compile, and of those that must not, with the compiler's message.
@Suite(.serialized)
struct ModelBoundaryTests {
  /// The declarations that all programs share.
  private static let preamble = """
    import Divan

    final class Todo: Model {
      @Persisted var text: String
      override class var documentType: String? { nil }
    }

    """

  /// The directory of the package's built modules.
  private let products = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()

  private let root = ProjectFolder.url

  private struct Compilation {
    var status: Int32
    var output: String
  }

  /// Runs the compiler on a program.
  private func compile(
    _ program: String, preamble: String = Self.preamble, options: [String] = ["-emit-sil"],
    to output: String = "/dev/null"
  ) throws -> Compilation {
    let directory = try TemporaryDirectory()
    let source = URL(filePath: directory.path).appending(path: "main.swift")
    try Data((preamble + program).utf8).write(to: source)
    return try run(
      "swiftc",
      options + [
        "-swift-version", "6", "-I", products.appending(path: "Modules").path, "-o", output,
        "-module-cache-path", products.appending(path: "ModuleCache").path, source.path,
      ])
  }

  private func run(_ program: String, _ arguments: [String]) throws -> Compilation {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [program] + arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return Compilation(
      status: process.terminationStatus, output: String(decoding: output, as: UTF8.self))
  }

  /// Expects that a program does not compile, with or without the main actor as default isolation.
  private func expectRefusal(of program: String, saying message: String) throws {
    for isolation in [[], ["-default-isolation", "MainActor"]] {
      let compilation = try compile(program, options: ["-emit-sil"] + isolation)
      #expect(compilation.status != 0, "\(isolation)")
      #expect(compilation.output.contains(message), "\(isolation): \(compilation.output)")
    }
  }

  @Test(arguments: [
    """
    func use(_ database: Database) async throws {
      let context = database.makeContext()
      let todo = Todo(in: context)
      todo.text = "x"
      try await todo.save()
      let id = todo.modelID
      let copy = try todo.detachedCopy()
      let other = database.makeContext()
      await Task.detached { print(id, copy.text, (try? other.model(id)) ?? copy) }.value
    }
    """,
    """
    func use(_ database: Database, _ registry: ModelRegistry) async throws {
      let id = try await database.write { transaction in
        let todo = Todo(in: transaction.models)
        todo.text = "x"
        try todo.save()
        return todo.modelID
      }
      print(id, try texts(database, registry))
    }
    func texts(_ database: Database, _ registry: ModelRegistry) throws -> [String] {
      try database.read { snapshot in
        try snapshot.models(registry) { context in
          let todos = try context.models(Todo.self)
          return try todos.collect().map(\\.text)
        }
      }
    }
    """,
    """
    actor Keeper {
      let context: ModelContext
      init(_ database: Database) { context = database.makeContext() }
      func live(in database: Database) -> String {
        let context = database.makeFollowingContext(isolation: self)
        return Todo(in: context).text
      }
    }
    """,
    """
    @MainActor final class Store {
      let context: ModelContext
      init(_ database: Database) { context = database.makeFollowingContext() }
      func show() throws -> [String] {
        let cursor = try context.models(Todo.self)
        return try cursor.collect().map(\\.text)
      }
    }
    """,
  ])
  func `programs that respect isolation domains compile`(
    program: String
  ) throws {
    let compilation = try compile(program)
    #expect(compilation.status == 0, "\(compilation.output)")
  }

  @Test func `a client with the main actor as default isolation compiles`() throws {
    let compilation = try compile(
      """
      class Note: Model {
        @Persisted var title: String
        @Persisted var next: Note?
        @Persisted var all: [Note]
        override func didLoad() { title += "." }
        override class var documentType: String? { "note" }
      }
      final class Letter: Note { @Persisted var address = "" }
      func use(_ database: Database) throws {
        let context = database.makeFollowingContext(try ModelRegistry(Letter.self))
        let letter = Letter(in: context)
        letter.next = Letter(in: context)
        try letter.save()
        try database.write { try $0.put(Document(id: "a")) }
      }
      """, preamble: "import Divan\n", options: ["-emit-sil", "-default-isolation", "MainActor"])
    #expect(compilation.status == 0, "\(compilation.output)")
  }

  @Test(arguments: [
    (
      "let todo = Todo(in: context)\n  Task.detached { print(todo.text) }\n  print(todo.text)",
      "risks causing data races"
    ),
    ("let sendable: any Sendable = context\n  print(sendable)", "is unavailable"),
    ("let sendable: any Sendable = Todo(in: context)\n  print(sendable)", "is unavailable"),
    (
      "let todo = Todo(in: context)\n  try await database.write { _ in print(todo.text) }",
      "non-Sendable type 'Todo' in a '@Sendable' closure"
    ),
    (
      "let todo = Todo(in: context)\n  _ = try await database.read { _ in todo }",
      "as a 'sending' result risks causing data races"
    ),
    (
      "let todo: Todo = await MainActor.run { Todo() }\n  print(todo)",
      "Sendable"
    ),
    (
      "try write(database)\n}\nfunc write(_ database: Database) throws {\n"
        + "  let leaked = try database.write { $0 }\n  print(leaked)",
      "as a 'sending' result risks causing data races"
    ),
    (
      "try write(database)\n}\nfunc write(_ database: Database) throws {\n"
        + "  let leaked = try database.write { try $0.models.model(Todo.self, id: \"a\") }\n  print(leaked as Any)",
      "as a 'sending' result risks causing data races"
    ),
    (
      "try read(database)\n}\nfunc read(_ database: Database) throws {\n"
        + "  let leaked = try database.read { try $0.models { try $0.model(Todo.self, id: \"a\") } }\n"
        + "  print(leaked as Any)",
      "as a 'sending' result risks causing data races"
    ),
    (
      "let leaked = try await database.write { try $0.models.model(Todo.self, id: \"a\") }\n  print(leaked as Any)",
      "as a 'sending' result risks causing data races"
    ),
    (
      "_ = await Keeper(database).leak()\n}\nactor Keeper {\n  let context: ModelContext\n"
        + "  init(_ database: Database) { context = database.makeContext() }\n"
        + "  func leak() -> Todo { Todo(in: context) }",
      "non-Sendable 'Todo'-typed result can not be returned from actor-isolated"
    ),
  ])
  func `a model that leaves its isolation domain does not compile`(
    statements: String, message: String
  ) throws {
    try expectRefusal(
      of: """
        func use(_ database: Database) async throws {
          let context = database.makeContext()
          _ = context
          \(statements)
        }
        """, saying: message)
  }

  @Test(arguments: [
    (
      "final class A: Model { @Persisted var a = Plain() }",
      "this type cannot be stored in a @Persisted property: make it Codable or ValueConvertible"
    ),
    (
      "final class A: Model { @Persisted var a: Plain }",
      "this @Persisted property needs an initial value"
    ),
    (
      "final class A: Model { @Persisted let a = 1 }",
      "property wrapper can only be applied to a 'var'"
    ),
    (
      "struct A { @Persisted var a = 1; var b: Int { a } }",
      "@Persisted can only be used on properties of Model subclasses"
    ),
    (
      "final class A: Model { @Persisted(index: .fullText) var a = 1 }",
      "'fullText' requires that 'Int' conform to '_QueryFullText'"
    ),
  ])
  func `an unsupported property does not compile, and the message says what to do`(
    program: String, message: String
  ) throws {
    try expectRefusal(of: "struct Plain {}\n" + program, saying: message)
  }

  @Test
  func `saving a class compiled without reflection metadata throws with the reason`()
    throws
  {
    let directory = try TemporaryDirectory()
    let program = "\(directory.path)/program"
    let objects = ["Divan", "DivanLog"].flatMap { module -> [String] in
      let folder = products.appending(path: "\(module).build").path
      let sources = root.appending(path: "Sources/\(module)").path
      let names = FileManager.default.enumerator(atPath: sources)?.allObjects ?? []
      // An earlier build may have left object files of removed sources.
      return names.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted()
        .map { "\(folder)/\(URL(filePath: $0).lastPathComponent).o" }
    }
    let compilation = try compile(
      """
      let context = try Database.inMemory().makeContext()
      var errorCount = 0
      context.errorHandler = { _ in errorCount += 1 }
      let todo = Todo(in: context)
      todo.text = "x"
      todo.text += "y"
      print(todo.text, errorCount)
      do { try todo.save() } catch let error as DatabaseError { print(error.code, error.hint ?? "") }
      """, options: ["-Xfrontend", "-disable-reflection-metadata"] + objects, to: program)
    try #require(compilation.status == 0, "\(compilation.output)")
    let result = try run(program, [])
    #expect(result.status == 0)
    #expect(
      result.output
        == "xy 1\ninvalidModelClass Compile its module without -disable-reflection-metadata\n")
  }
}
