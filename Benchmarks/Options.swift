/// What the command line asks for.
struct Options {
  /// Documents of the store.
  var count = 100_000
  /// Samples of each workload.
  var repetitions = 3
  /// Names, or beginnings of names, of the workloads to run; all if empty.
  var only: [String] = []
  /// Where stores are made.
  var directory: String?
  /// Where every sample is written.
  var json: String?
  /// Where the chart is written.
  var svg: String?
  /// Whether to name the workloads and end.
  var isList = false
  /// Whether to explain the options and end.
  var isHelp = false
  /// The workload that this process measures for another one.
  var child: ChildTask?

  /// What `--help` prints.
  static let usage = """
    Benchmarks: what Divan's work costs. Use a release build on a quiet machine.

      --count N        documents of the store (100000; a million takes some minutes)
      --repeat R       samples of each workload (3)
      --only A,B       workloads whose names begin so
      --list           names the workloads
      --directory DIR  where stores are made and removed again (the temporary directory)
      --json FILE      writes every sample to FILE
      --svg DIRECTORY  writes a chart into DIRECTORY
      --help           prints this
    """

  /// Reads the arguments behind the program's name.
  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let name = rest.popFirst() {
      switch name {
      case "--list": isList = true
      case "--help", "-h": isHelp = true
      default:
        guard let value = rest.popFirst() else {
          throw BenchmarkError("\(name): unknown, or a value is missing; see --help")
        }
        try set(name, value)
      }
    }
  }

  private mutating func set(_ name: String, _ value: String) throws {
    switch name {
    // Every workload can do with a hundred documents.
    case "--count": count = max(100, try Self.number(name, value))
    case "--repeat": repetitions = try Self.number(name, value)
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
      throw BenchmarkError("\(name): \(value) is no number above 0")
    }
    return number
  }
}
