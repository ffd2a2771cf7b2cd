import Foundation

let isInteractive = isatty(0) == 1
let terminal = Terminal(
  print: { FileHandle.standardOutput.write(Data("\($0)\n".utf8)) },
  printError: { FileHandle.standardError.write(Data("\($0)\n".utf8)) },
  prompt: { if isInteractive { FileHandle.standardOutput.write(Data("> ".utf8)) } })

let status = await FilmNotes.run(Array(CommandLine.arguments.dropFirst()), on: terminal) {
  AsyncStream { continuation in
    // Reading waits on a thread of its own, so live results appear while the user types.
    Thread.detachNewThread {
      while let line = readLine() { continuation.yield(line) }
      continuation.finish()
    }
  }
}
exit(status)
