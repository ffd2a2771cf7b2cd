#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The options of the command line.
struct Options {
  /// The path of the store.
  var storePath = FileManager.default.temporaryDirectory.appendingPathComponent("Films.divan").path
  /// The files to import; our own films if there are none.
  var files: [String] = []
  var wantsHelp = false

  static let usage = """
    usage: quickstart [--store PATH] [FILE.json …]

    Makes a store of the films in JSON files, each an array of objects or JSON Lines, and shows what can
    be done with it. Without a file it uses some films of its own.

      --store PATH  where the store is made; Films.divan in the directory for temporary files if this is
                    not given. What quickstart itself made there before is replaced, nothing else is.
      --help        prints this.

    Exits with 0 if every film came back equal, and every question had the same answer with indexes as
    without; 1 if something failed, and 2 if called the wrong way.
    """

  init(_ arguments: some Sequence<String>) throws(Failure) {
    var rest = arguments.makeIterator()
    var takesOptions = true
    while let argument = rest.next() {
      switch argument {
      case "--" where takesOptions: takesOptions = false
      case "--help" where takesOptions, "-h" where takesOptions: wantsHelp = true
      case "--store" where takesOptions:
        guard let path = rest.next(), !path.isEmpty else {
          throw Failure("--store needs a path", isUsage: true)
        }
        storePath = path
      case _ where takesOptions && argument.utf8.first == UInt8(ascii: "-"):
        throw Failure("there is no option \(argument)", isUsage: true)
      default: files.append(argument)
      }
    }
  }
}

/// The error with which quickstart stops.
struct Failure: Error {
  let message: String
  let isUsage: Bool

  init(_ message: String, isUsage: Bool = false) {
    self.message = message
    self.isUsage = isUsage
  }
}
