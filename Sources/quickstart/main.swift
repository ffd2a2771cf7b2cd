import Foundation

do {
  let options = try Options(CommandLine.arguments.dropFirst())
  if options.wantsHelp {
    print(Options.usage)
  } else {
    try Quickstart(options: options).run()
  }
} catch {
  let failure = error as? Failure
  var text = "quickstart: \(failure?.message ?? "\(error)")\n"
  if failure?.isUsage == true { text += Options.usage + "\n" }
  FileHandle.standardError.write(Data(text.utf8))
  exit(failure?.isUsage == true ? 2 : 1)
}
