import DivanLog

StandardStream.reportClosedPipes()
let output = Output(.output)
let problems = Output(.error)
let status = LogDump(fileSystem: POSIXFileSystem(), output: output, problems: problems)
  .run(Array(CommandLine.arguments.dropFirst()))
endProcess(status.rawValue)
