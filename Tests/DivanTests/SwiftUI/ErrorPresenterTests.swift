import Testing

@testable import Divan

/// Tests of the errors that an alert of a view shows.
@MainActor
struct ErrorPresenterTests {
  private struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
  }

  private func shown(in context: ModelContext?) -> ErrorPresenter {
    let presenter = ErrorPresenter()
    presenter.follow(context)
    presenter.appear()
    return presenter
  }

  @Test func `an error of the context is shown until it is dismissed, and the handler gets it`() {
    var handled = 0
    context.errorHandler = { _ in handled += 1 }
    let presenter = shown(in: context)
    #expect(!presenter.isPresented)
    let error = DatabaseError(.conflict, "the document has changed", hint: "Read it again")
    context.report(error)
    #expect(presenter.isPresented && handled == 1)
    #expect(presenter.title == "The document has changed" && presenter.message == "Read it again")
    presenter.isPresented = false
    #expect(!presenter.isPresented)
    // The alert keeps its text while it disappears.
    #expect(presenter.title == "The document has changed" && presenter.message == "Read it again")
  }

  @Test func `several errors are shown together, each once, and not endlessly many`() {
    let presenter = shown(in: context)
    for text in ["one", "two", "one", "two", "three"] { context.report(Failure(description: text)) }
    context.report(CancellationError())
    #expect(presenter.title == "one" && presenter.message == "two\nthree")
    for number in 0..<100 { context.report(Failure(description: "\(number)")) }
    #expect(presenter.message.split(separator: "\n").count == ErrorReports.limit - 1)
  }

  @Test func `a dismissed error is not shown again for a while`() {
    let reports = context.errorReports
    let start = ContinuousClock.now
    let failure = Failure(description: "the disk is full")
    reports.add(failure, at: start)
    reports.dismiss(at: start)
    reports.add(failure, at: start + .seconds(59))
    #expect(reports.title == nil)
    reports.add(Failure(description: "another"), at: start + .seconds(59))
    #expect(reports.title == "another" && reports.message == "")
    reports.add(failure, at: start + .seconds(61))
    #expect(reports.message == "the disk is full")
  }

  @Test func `errors of live queries are shown, earlier ones too`() throws {
    class Note: Model { @Persisted var text: String }
    let refused = Query<Note>().filter { $0.text.like(String(repeating: "*a", count: 5000)) }
    let first = context.liveQuery(refused)
    let presenter = shown(in: context)
    #expect(presenter.isPresented && first.error != nil)
    presenter.isPresented = false
    // The same failure at the next commit is not another error.
    try database.write { _ = try $0.put(Document([:])) }
    try context.refresh()
    #expect(!presenter.isPresented)
    let other = Query<Note>().filter { $0.text.like(String(repeating: "*b", count: 5001)) }
    let second = context.liveQuery(other.limit(3))
    #expect(second.error != nil)
  }

  @Test func `the view that appeared last shows the errors`() {
    let below = shown(in: context)
    let sheet = shown(in: context)
    context.report(Failure(description: "one"))
    #expect(!below.isPresented && sheet.isPresented)
    sheet.disappear()
    #expect(below.isPresented && !sheet.isPresented)
    below.isPresented = false
    sheet.appear()
    context.report(Failure(description: "two"))
    #expect(!below.isPresented && sheet.title == "two")
  }

  @Test func `another context is followed, and a missing one is reported`() throws {
    let presenter = shown(in: context)
    let other = database.makeContext()
    context.report(Failure(description: "one"))
    presenter.follow(other)
    #expect(!presenter.isPresented)
    other.report(Failure(description: "two"))
    #expect(presenter.title == "two")
    presenter.follow(nil)
    #expect(presenter.isPresented && presenter.message.contains("divan(database)"))
    presenter.isPresented = false
    presenter.follow(nil)
    #expect(!presenter.isPresented)
    presenter.follow(other)
    #expect(presenter.isPresented && presenter.title == "two")
  }

  @Test func `a context that no view shows collects no errors`() {
    context.report(Failure(description: "one"))
    #expect(context.core.errorReports == nil && context.errorReports.title == nil)
  }
}
