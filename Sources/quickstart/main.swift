#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

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
  // The text is lent to the call, with as many bytes as it says.
  _ = unsafe write(2, text, text.utf8.count)
  exit(failure?.isUsage == true ? 2 : 1)
}
