import Divan
import DivanTesting
import Foundation
import TestSupport
import Testing

/// Tests that run the examples of the guide to errors.
struct ErrorsGuideTests {
  final class User: Model {
    @Persisted(index: .unique) var name: String

    override func validate(_ validation: inout ModelValidation) {
      validation.require(!name.isEmpty, "a user has a name", property: "name")
    }
  }

  func register(_ name: String, in context: ModelContext) throws -> String {
    let user = User(in: context)
    user.name = name
    do {
      try user.save()
      return "Welcome, \(name)"
    } catch let error as DatabaseError {
      try user.delete()
      switch error.code {
      case .notUnique: return "The name is taken"
      case .invalidModel: return "Enter a name"
      default: throw error
      }
    }
  }

  @Test func `expected codes are handled, and the context can save again`() throws {
    let database = try Database.inMemory(schema: Schema(User.self))
    let context = database.makeContext()
    #expect(try register("ann", in: context) == "Welcome, ann")
    #expect(try register("ann", in: context) == "The name is taken")
    #expect(try register("", in: context) == "Enter a name")
    #expect(try register("bob", in: context) == "Welcome, bob")
    #expect(try database.snapshot().count == 2 && context.unsavedModels.isEmpty)
  }

  @Test func `errors of validations have the reasons`() throws {
    let database = try Database.inMemory()
    let context = database.makeContext()
    let user = User(in: context)
    var problems: [String] = []
    do {
      try user.save()
    } catch let error as DatabaseError where error.code == .invalidModel {
      for failure in (error.underlying as? InvalidModelsError)?.failures ?? [] {
        problems.append("\(failure.property ?? "model"): \(failure.message)")
      }
    }
    #expect(problems == ["name: a user has a name"])

    problems = []
    database.setValidation(named: "notes") { revision in
      guard !revision.isDeletion, revision.document["text"]?.stringValue == nil else { return }
      try revision.reject("a note has a text", keys: ["text"])
    }
    do {
      try database.write { try $0.put(Document(id: "empty")) }
    } catch let error as DatabaseError where error.code == .validationFailed {
      problems.append(error.validationFailure?.reason ?? error.message)
    }
    #expect(problems == ["a note has a text"])
    let error = #expect(throws: DatabaseError.self) {
      try database.write { try $0.put(Document(id: "empty")) }
    }
    #expect(error.map(textForUsers) == "a note has a text")
    #expect(error?.failureReason == "a note has a text (text)")
    #expect(try database.snapshot().count == 0)
  }

  func textForUsers(of error: DatabaseError) -> String {
    switch error.code {
    case .diskFull: "The disk is full. Free some space, and try again."
    case .conflict: "Someone else has changed this. Look at the change, and save again."
    case .validationFailed: error.validationFailure?.reason ?? "A value is not valid."
    case .invalidModel:
      (error.underlying as? InvalidModelsError)?.failures.first?.message ?? "A value is not valid."
    default: "The changes could not be saved."
    }
  }

  @Test func `an error has texts for the user and for the log, and a full disk loses nothing`()
    throws
  {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database(
      at: "/Photos.divan", configuration: disk.configuration(hasSmallFiles: false))
    try database.write { try $0.put(Document(id: "first")) }
    let photo = Document(id: "photo", ["data": .string(String(repeating: "x", count: 5000))])
    disk.capacityBytes = disk.usedBytes + 1000
    let error = #expect(throws: DatabaseError.self) {
      try database.write { try $0.put(photo) }
    }
    #expect(error?.code == .diskFull && error?.recoverySuggestion?.isEmpty == false)
    let failure = try #require(error)
    #expect(textForUsers(of: failure) == "The disk is full. Free some space, and try again.")
    #expect(failure.localizedDescription.contains("/Photos.divan"))
    #expect("\(failure)".contains("diskFull") && failure.failureReason == failure.message)
    #expect(try database.snapshot().document("first") != nil)
    disk.capacityBytes = nil
    try database.write { try $0.put(photo) }
    #expect(try database.snapshot().count == 2)
  }

  func openStore(at path: String) throws -> Database {
    do {
      return try Database(at: path)
    } catch let error as DatabaseError where error.code == .damaged {
      print("opened for reading only:", error)
      var configuration = Configuration()
      configuration.isReadOnly = true
      return try Database(at: path, configuration: configuration)
    }
  }

  @Test func `a damaged store is opened for reading, and the report says so`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Notes.divan"
    do {
      let database = try openStore(at: path)
      #expect(database.openingReport.ending == .created)
      for (id, text) in [("first", "tea"), ("second", "milk"), ("third", "sugar")] {
        try database.write { try $0.replace(id, with: ["text": .string(text)]) }
      }
      try database.close()
    }
    let file = URL(filePath: path).appending(path: "0000000001.segment")
    var bytes = try Data(contentsOf: file)
    let place = try #require(bytes.firstRange(of: Data("milk".utf8)))
    bytes[place.lowerBound] ^= 1
    try bytes.write(to: file)

    let database = try openStore(at: path)
    var problems: [String] = []
    let report = database.openingReport
    if report.ending == .interrupted { print("the store was not closed:", report) }
    for error in report.damage { problems.append("\(error.code)") }
    #expect(Set(problems) == ["damaged"])
    #expect(try database.snapshot().document("third")?["text"] == "sugar")
    #expect(throws: DatabaseError.self) {
      try database.write { try $0.put(Document(id: "fourth")) }
    }
  }

  @Test func `a context reports a value of another type, and the document keeps it`() throws {
    let database = try Database.inMemory()
    try database.write { try $0.replace("u", with: ["type": "User", "name": ["Ada"]]) }
    let context = database.makeContext()
    var problems: [String] = []
    context.errorHandler = { error in problems.append("\(error)") }
    context.mismatchHandler = { error in
      problems.append("\(error.documentID ?? ""): \(error.propertyPath ?? "")")
    }
    let user = try #require(try context.model(User.self, id: "u"))
    #expect(user.name.isEmpty && problems == ["u: name"])
    #expect(try database.snapshot().document("u")?["name"] == ["Ada"])
    context.isStrict = true
    #expect(throws: DatabaseError.self) { try user.load() }
  }
}
