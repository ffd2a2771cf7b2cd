import Divan
import DivanTesting

@testable import film_notes

/// A session in a library in memory, and what it prints.
@MainActor final class Desk {
  let library: Library
  let session: Session
  private let screen = Screen()
  private(set) var status: Int32 = 0

  init(_ fixture: Fixture = .documents()) throws {
    library = Library(
      try Database.inMemory(
        schema: Library.schema(), configuration: Library.configuration, fixtures: fixture))
    session = Session(library, screen.terminal)
  }

  /// Types a command, and returns the lines that it prints.
  ///
  /// Its exit status is in ``status``.
  @discardableResult
  func type(_ line: String) async throws -> [String] {
    status = await session.run(try Command.split(line))
    return screen.takeLines()
  }

  /// Three works and their people.
  static let works = Fixture.models { context in
    for (id, title, year) in [("metropolis", "Metropolis", 1927), ("m", "M", 1931)] {
      let film = Film(in: context, id: id)
      film.title = title
      film.year = year
      film.genres = id == "m" ? ["Crime", "Drama"] : ["Drama"]
      film.director = try context.person(named: "Fritz Lang")
    }
    let series = Series(in: context, id: "berlin")
    series.title = "Berlin Alexanderplatz"
    series.year = 1980
    series.cast = [try context.person(named: "Günter Lamprecht")]
  }
}

/// A terminal that keeps what is printed.
@MainActor final class Screen {
  private var lines: [String] = []

  var terminal: Terminal {
    Terminal(print: { self.lines.append($0) }, printError: { self.lines.append($0) })
  }

  func takeLines() -> [String] {
    defer { lines = [] }
    return lines
  }
}
