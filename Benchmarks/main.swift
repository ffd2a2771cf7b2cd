// For `exit` and the standard error.
import Foundation

do {
  let options = try Options(Array(CommandLine.arguments.dropFirst()))
  if let task = options.child {
    try task.serve()
  } else if options.isHelp {
    print(Options.usage)
  } else if options.isList {
    for workload in Workload.all {
      print(Report.line(workload))
    }
  } else if !ReleaseBuild.isThis {
    exit(try ReleaseBuild.run(Array(CommandLine.arguments.dropFirst())))
  } else {
    let (figures, hasFailed) = try Run(options).measure()
    if let path = options.json { try Report.writeJSON(figures, options, to: path) }
    if let directory = options.svg {
      try Chart(title: "Divan, \(options.count) documents", figures: figures)
        .write(into: directory)
    }
    if hasFailed { exit(1) }
  }
} catch {
  FileHandle.standardError.write(Data("Benchmarks: \(error)\n".utf8))
  exit(2)
}
