import CChecksum
import Foundation

peers_crc32c_prepare()

let arguments = Array(CommandLine.arguments.dropFirst())
do {
  if arguments.first == ChildProcess.flag, arguments.count == 2 {
    try ChildProcess.serve(arguments[1])
  } else if arguments.contains("--help") {
    print(Options.usage)
  } else {
    let options = try Options(arguments)
    Report.warnWhenBusy()
    let run = try Run(options)
    try run.measure(then: Report.print)
    Report.printGoals(run.figures)
    if let path = options.json { try Report.writeJSON(run.figures, options, to: path) }
    if let path = options.svg {
      try Chart(figures: run.figures, count: options.count).write(to: path)
    }
  }
} catch {
  warn("\(error)")
  exit(1)
}
