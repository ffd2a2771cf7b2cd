import Foundation

/// The options from the command line.
struct Options {
  var count = 1_000_000
  var overwriteCount: Int?
  var workloads = Workload.allCases
  var engines = allEngines.map { $0.name }
  var repetitions = 3
  var directory: String?
  var json: String?
  var svg: String?
  var limitSeconds = 600.0
  var cacheMebibytes = 128
  var seed: UInt64 = 1

  static let usage = """
    Peers: the same workloads through Divan and through the stores it is compared with.

      --count N            documents of the store (default 1000000; 100000 for a quick look)
      --overwrite-count N  documents of the store that is overwritten (default: a fifth)
      --only A,B           workloads: \(Workload.allCases.map(\.rawValue).joined(separator: ", "))
      --engines A,B        stores: \(allEngines.map { $0.name }.joined(separator: ", "))
      --repetitions N      of each workload, interleaved between the stores (default 3)
      --directory DIR      where the stores are made, and removed again (default: temporary)
      --json FILE          writes every sample to FILE
      --svg FILE           draws the work that applications do most
      --limit SECONDS      longest time of one repetition (default 600)
      --cache MIB          page or block cache, where a store has one (default 128)
      --seed N             of the documents (default 1)
    """

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let name = rest.popFirst() {
      guard let value = rest.popFirst() else {
        throw PeerError("\(name): unknown, or needs a value")
      }
      switch name {
      case "--count": count = try Self.number(name, value)
      case "--overwrite-count": overwriteCount = try Self.number(name, value)
      case "--repetitions": repetitions = try Self.number(name, value)
      case "--limit": limitSeconds = Double(try Self.number(name, value))
      case "--cache": cacheMebibytes = try Self.number(name, value)
      case "--seed": seed = UInt64(try Self.number(name, value))
      case "--directory": directory = value
      case "--json": json = value
      case "--svg": svg = value
      case "--engines":
        engines = try Self.list(name, value, known: allEngines.map { $0.name })
      case "--only":
        workloads = try Self.list(name, value, known: Workload.allCases.map(\.rawValue))
          .compactMap(Workload.init(rawValue:))
      default: throw PeerError("\(name): unknown option")
      }
    }
    // Every workload needs at least one transaction of the load.
    count = max(count, ChildTask.transactionSize)
  }

  private static func number(_ name: String, _ value: String) throws -> Int {
    guard let number = Int(value), number > 0 else { throw PeerError("\(name): not a number") }
    return number
  }

  /// Returns the values of a list, in the order of `known`.
  private static func list(_ name: String, _ value: String, known: [String]) throws -> [String] {
    let chosen = value.split(separator: ",").map(String.init)
    if let stranger = chosen.first(where: { !known.contains($0) }) {
      throw PeerError("\(name): no \(stranger); there is \(known.joined(separator: ", "))")
    }
    return known.filter(chosen.contains)
  }
}
