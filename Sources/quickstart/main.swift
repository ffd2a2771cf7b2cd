#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#else
  @preconcurrency import Darwin
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
  let text = "quickstart: \(failure?.message ?? "\(error)")\n"
  _ = unsafe fputs(failure?.isUsage == true ? text + Options.usage + "\n" : text, stderr)
  exit(failure?.isUsage == true ? 2 : 1)
}
