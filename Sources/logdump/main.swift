import DivanLog

StandardStream.reportClosedPipes()
let output = Output(.output)
let problems = Output(.error)
let progress = Progress(StandardStream.error.isTerminal ? Output(.error) : nil)
output.willWrite = progress.clear
problems.willWrite = progress.clear
var tool = LogDump(fileSystem: POSIXFileSystem(), output: output, problems: problems)
tool.progress = progress
let status = tool.run(Array(CommandLine.arguments.dropFirst()))
endProcess(status.rawValue)
