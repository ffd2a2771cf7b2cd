import Divan
import DivanSync
import Foundation

/// What the user sees: the functions of the commands write lines to it.
struct Terminal {
  let print: @MainActor (String) -> Void
  let printError: @MainActor (String) -> Void
  /// Asks for the next command.
  var prompt: @MainActor () -> Void = {}
}

/// Runs commands in an open library.
///
/// The extensions have the functions of the commands.
@MainActor final class Session {
  let library: Library
  let terminal: Terminal
  var watch: WorkWatch?

  init(_ library: Library, _ terminal: Terminal) {
    self.library = library
    self.terminal = terminal
    // Errors of reading a property, which no call can throw.
    library.context.errorHandler = { terminal.printError("\($0)") }
    library.context.mismatchHandler = { terminal.printError("\($0)") }
  }

  func print(_ line: String) { terminal.print(line) }

  /// Runs a command, and prints its error.
  ///
  /// - Returns: The exit status.
  func run(_ arguments: [String]) async -> Int32 {
    do {
      let command = try Command(arguments)
      for form in CommandForm.all where form.name == command.name {
        try await form.run(self, command)
      }
      return ExitStatus.success
    } catch {
      library.context.revert()
      return ExitStatus.report(error, terminal)
    }
  }

  func help() {
    for form in CommandForm.all { print("\(form.usage)\n    \(form.summary)") }
    print("quit\n    ends the program")
  }
}

/// The exit statuses of the program.
enum ExitStatus {
  static let success: Int32 = 0
  static let failure: Int32 = 1
  /// The program was called in the wrong way; `sysexits.h` calls this `EX_USAGE`.
  static let usage: Int32 = 64

  /// Prints an error, and returns its status.
  ///
  /// A `DatabaseError` says what happened, where, and what to do.
  @MainActor static func report(_ error: any Error, _ terminal: Terminal) -> Int32 {
    switch error {
    case is DatabaseError, is ReplicationError, is UsageError:
      terminal.printError("film-notes: \(error)")
    default: terminal.printError("film-notes: \(error.localizedDescription)")
    }
    return error is UsageError ? usage : failure
  }
}
