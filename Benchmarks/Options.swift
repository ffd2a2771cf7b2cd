/// The options from the command line.
struct Options {
  /// The number of documents in the store.
  var count = 20_000
  /// The number of samples of each workload.
  var repetitions = 3
  /// The maximum number of seconds for taking samples; nil for no limit.
  var secondLimit: Double?
  /// The names, or prefixes of names, of the workloads to run; all if empty.
  var only: [String] = []
  /// The directory for stores.
  var directory: String?
  /// The path of the file for all samples.
  var json: String?
  /// The directory for the chart.
  var svg: String?
  /// Whether to list the workloads and exit.
  var isList = false
  /// Whether to explain the options and exit.
  var isHelp = false
  /// The workload that this process measures for another process.
  var child: ChildTask?

  /// The text of `--help`.
  static let usage = """
    Measures what Divan's operations cost. A debug build builds and runs a release build instead.
    Use it on an idle machine.

    Without options it ends within two minutes. On a slow machine it takes fewer samples.

      --count N        number of documents in the store (20000; a million takes half an hour)
      --repeat R       samples of each workload (3)
      --only A,B       only workloads with these names or prefixes of names
      --seconds S      time limit: takes fewer samples, and finally none (110; none if one of the
                       above is given)
      --list           lists the workloads
      --directory DIR  directory for stores, which are removed again (the temporary directory)
      --json FILE      writes every sample to FILE
      --svg DIRECTORY  writes a chart into DIRECTORY
      --help           prints this text
    """

  /// Parses the arguments after the program's name.
  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    var isLimited = true
    while let name = rest.popFirst() {
      switch name {
      case "--list": isList = true
      case "--help", "-h": isHelp = true
      default:
        guard let value = rest.popFirst() else {
          throw BenchmarkError("\(name): unknown, or a value is missing; see --help")
        }
        try set(name, value)
        if ["--count", "--repeat", "--only", "--seconds"].contains(name) { isLimited = false }
      }
    }
    if isLimited { secondLimit = 110 }
  }

  private mutating func set(_ name: String, _ value: String) throws {
    switch name {
    // Every workload works with a hundred documents.
    case "--count": count = max(100, try Self.number(name, value))
    case "--repeat": repetitions = try Self.number(name, value)
    case "--seconds": secondLimit = Double(try Self.number(name, value))
    case "--only": only = value.split(separator: ",").map(String.init)
    case "--directory": directory = value
    case "--json": json = value
    case "--svg": svg = value
    case ChildTask.flag: child = try ChildTask(encoded: value)
    default: throw BenchmarkError("\(name): unknown; see --help")
    }
  }

  private static func number(_ name: String, _ value: String) throws -> Int {
    guard let number = Int(value), number > 0 else {
      throw BenchmarkError("\(name): \(value) is not a positive number")
    }
    return number
  }
}
