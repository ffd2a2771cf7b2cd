import Divan
import Foundation

/// The program: reads its arguments, opens the store, and runs one command or a session.
enum FilmNotes {
  static let usage = """
    usage: film-notes [--store PATH] [COMMAND …]

    Opens the store, FilmNotes.divan if none is given, or creates it, and runs a command. Without a
    command, it reads commands from standard input, one in a line. `film-notes help` lists the commands.

    Exits with 0; with 1 if a command failed; with 64 if one was typed wrong.
    """

  /// Runs the program.
  ///
  /// - Parameters:
  ///   - arguments: The arguments of the command line, without the name of the program.
  ///   - terminal: Receives the output.
  ///   - lines: Makes the input, which is read only without a command in the arguments.
  /// - Returns: The exit status.
  @MainActor static func run(
    _ arguments: [String], on terminal: Terminal, reading lines: () -> AsyncStream<String>
  ) async -> Int32 {
    var words = arguments[...]
    var path = "FilmNotes.divan"
    if words.first == "--store" {
      guard words.count > 1 else {
        return ExitStatus.report(UsageError("--store needs a path\n\(usage)"), terminal)
      }
      path = words[1]
      words = words.dropFirst(2)
    }
    if let word = words.first, word == "--help" || word == "-h" {
      terminal.print(usage)
      return ExitStatus.success
    }
    do {
      // A mistake in the command must not leave an empty store behind.
      if !words.isEmpty { _ = try Command(Array(words)) }
      let library = try await Library.open(at: path, migrates: words.first != "migrate")
      let session = Session(library, terminal)
      let status =
        words.isEmpty ? await session.run(lines()) : await session.run(Array(words))
      session.unwatch()
      try await library.database.close()
      return status
    } catch {
      return ExitStatus.report(error, terminal)
    }
  }
}

extension Session {
  /// Runs the commands of lines, until they end, or until `quit`.
  ///
  /// - Returns: The exit status of the first command that failed.
  func run(_ lines: AsyncStream<String>) async -> Int32 {
    var status = ExitStatus.success
    terminal.prompt()
    for await line in lines {
      var lineStatus = ExitStatus.success
      do {
        let words = try Command.split(line)
        if words == ["quit"] { break }
        if !words.isEmpty { lineStatus = await run(words) }
      } catch {
        lineStatus = ExitStatus.report(error, terminal)
      }
      if status == ExitStatus.success { status = lineStatus }
      terminal.prompt()
    }
    return status
  }
}
