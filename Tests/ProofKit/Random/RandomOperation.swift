import Divan
import DivanLog
import DivanTesting

/// An operation of a random run: a value, so that a list of them can be shortened.
enum RandomOperation: Sendable {
  /// The data to read, and how to read it.
  enum Reading: Sendable {
    case everything
    /// The IDs and documents in a range, specified in one of five ways.
    case range(Int, Int, way: Int, descending: Bool)
    case prefix(Int, descending: Bool)
    /// The changes after a position, given in per mille of all changes.
    case changes(perMille: Int)
  }

  case write([StoreChange], Durability, throwing: Bool)
  case read(Reading)
  case hold
  case compareHeld
  case letGo
  case checkpoint, merge, compact, flush, backup, reopen
  /// Names the newest version with one of a few names, or removes a name.
  case name(Int), removeName(Int)
  /// Adds one of a few indexes, or removes it.
  case addIndex(String), removeIndex(String)
  /// Purges documents that expired up to a number of seconds after the beginning.
  case purgeExpired(seconds: UInt64)
  /// Opens for reading only beside the writer.
  case readBeside
  /// The `call`-th call from now fails.
  case fail(call: Int, kind: Int, isLasting: Bool)
  /// No more calls fail.
  case heal
  /// The machine or the process ends now, without anything being closed.
  case crash(SimulatedDisk.Loss)
  /// The power is lost at the `call`-th changing call from now.
  case losePower(call: Int, SimulatedDisk.Loss)
}

extension RandomOperation {
  /// The kinds of faults of random runs: those after which bytes read as before.
  static let faults = FaultKind.everywhere

  /// Returns the ID of a document by its number; there are few prefixes, and not only ASCII.
  static func id(_ number: Int) -> String { "\(prefix(number))\(number)" }

  static func prefix(_ number: Int) -> String { ["doc-", "ärger/", "z", "doc-1"][abs(number) % 4] }

  /// The names of the indexes.
  private static let indexNames = [
    "by number", "each number", "number, text", "short by number", "words",
  ]

  /// Returns a list that is determined by the seed.
  ///
  /// A rich one has operations for everything that documents and stores have in addition to
  /// properties.
  static func list(
    _ count: Int, isRich: Bool, _ random: inout SeededGenerator
  ) -> [RandomOperation] {
    (0..<count).map { _ in RandomOperation(&random, isRich: isRich) }
  }

  private init(_ random: inout SeededGenerator, isRich: Bool) {
    func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
    if isRich, below(12) == 0 {
      self =
        switch below(8) {
        case 0..<2: .name(below(4))
        case 2..<4: .removeName(below(4))
        case 4: .addIndex(RandomOperation.indexNames[below(RandomOperation.indexNames.count)])
        case 5: .removeIndex(RandomOperation.indexNames[below(RandomOperation.indexNames.count)])
        default: .purgeExpired(seconds: UInt64(below(100)))
        }
      return
    }
    switch below(1000) {
    case 0..<600:
      let changes = (0...below(5)).map { _ in StoreChange(&random, depth: 0, isRich: isRich) }
      let durability: Durability =
        switch below(10) {
        case 0..<4: .full
        case 4..<9: .none
        default: .relaxed(maxDelay: .seconds(900))
        }
      self = .write(changes, durability, throwing: below(15) == 0)
    case 600..<700: self = .read(Reading(&random))
    case 700..<740: self = .hold
    case 740..<760: self = .compareHeld
    case 760..<765: self = .letGo
    case 765..<785: self = .checkpoint
    case 785..<800: self = .merge
    case 800..<815: self = .compact
    case 815..<835: self = .flush
    case 835..<840: self = .backup
    case 840..<875: self = .reopen
    case 875..<890: self = .readBeside
    case 890..<920:
      self = .fail(
        call: 1 + below(60), kind: below(RandomOperation.faults.count), isLasting: below(4) == 0)
    case 920..<950: self = .heal
    case 950..<980: self = .crash(RandomOperation.loss(&random))
    default: self = .losePower(call: 1 + below(40), RandomOperation.loss(&random))
    }
  }

  private static func loss(_ random: inout SeededGenerator) -> SimulatedDisk.Loss {
    let seed = UInt64(Int.random(in: 0..<1_000_000, using: &random))
    return switch seed % 9 {
    case 0: .strict
    case 1: .everything
    case 2: .processEnd
    case 3: .prefix(seed: seed)
    case 4: .first(Int(seed / 9 % 20))
    case 5: .random(seed: seed)
    case 6: .dropOne(Int(seed / 9 % 20))
    case 7: .sizeFirst(seed: seed)
    default: .dataFirst(seed: seed)
    }
  }
}

extension StoreChange {
  init(_ random: inout SeededGenerator, depth: Int, isRich: Bool) {
    func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
    if isRich, below(2) == 0 {
      self.init(rich: &random)
      return
    }
    let id = RandomOperation.id(below(below(3) == 0 ? 200 : 20))
    switch below(20) {
    case 0..<12:
      let size =
        switch below(60) {
        case 0: 20_000
        case 1..<6: 3000
        default: below(300)
        }
      self = .put(id, size: size)
    case 12..<14: self = .update(id)
    case 14..<18: self = .delete(id)
    default:
      guard depth < 3 else {
        self = .delete(id)
        return
      }
      self = .savepoint(
        (0...below(3)).map { _ in Self(&random, depth: depth + 1, isRich: isRich) },
        throwing: below(2) == 0)
    }
  }

  private init(rich random: inout SeededGenerator) {
    func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
    // So few that each is changed often.
    let id = RandomOperation.id(below(12))
    self =
      switch below(28) {
      case 0..<4: .branch(id, size: below(200))
      case 4..<7: .insert(id, size: below(200), isOnto: below(2) == 0, isDeleted: below(4) == 0)
      case 7: .resolve(id)
      case 8: .deleteAll(id)
      case 9: .purge(id)
      case 10..<12: .purgeLeaf(id, below(3))
      case 12..<17:
        .attach(
          id, name: ["a", "b"][below(2)], seed: UInt8(below(6)),
          size: [1, 40, 60, 400][below(4)])
      case 17..<19: .detach(id)
      case 19..<21: .expire(id, seconds: below(4) == 0 ? nil : UInt64(below(120)))
      case 21..<23: .putLocal("local-\(below(5))", size: below(300))
      case 23: .removeLocal("local-\(below(5))")
      case 24..<26: .insertAhead(id, size: below(200))
      default: .join(id)
      }
  }
}

extension RandomOperation.Reading {
  init(_ random: inout SeededGenerator) {
    func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
    switch below(10) {
    case 0: self = .everything
    case 1..<4: self = .range(below(200), below(200), way: below(5), descending: below(2) == 0)
    case 4..<7: self = .prefix(below(4), descending: below(2) == 0)
    default: self = .changes(perMille: below(1001))
    }
  }
}

extension RandomOperation {
  /// Simpler variants of this operation, to make a failing list easier to understand.
  var simpler: [RandomOperation] {
    switch self {
    case .write(let changes, let durability, let throwing):
      var simpler: [RandomOperation] = []
      for index in changes.indices where changes.count > 1 {
        var fewer = changes
        fewer.remove(at: index)
        simpler.append(.write(fewer, durability, throwing: throwing))
      }
      for (index, change) in changes.enumerated() {
        for other in change.simpler {
          var changed = changes
          changed.replaceSubrange(index...index, with: other)
          simpler.append(.write(changed, durability, throwing: throwing))
        }
      }
      return simpler
    case .fail(let call, let kind, true): return [.fail(call: call, kind: kind, isLasting: false)]
    case .fail(let call, let kind, false) where kind > 0:
      return [.fail(call: call, kind: 0, isLasting: false)]
    case .crash(let loss) where loss != .strict: return [.crash(.strict), .crash(.everything)]
    case .losePower(let call, let loss) where loss != .strict:
      return [
        .crash(.strict), .losePower(call: call, .strict), .losePower(call: call, .everything),
      ]
    default: return []
    }
  }
}

extension StoreChange {
  fileprivate var simpler: [[Self]] {
    switch self {
    case .put(let number, let size) where size > 0: [[.put(number, size: size / 8)]]
    case .update(let number): [[.put(number, size: 0)]]
    case .savepoint(let changes, let throwing): throwing ? [[], changes] : [changes]
    case .branch(let number, _), .insert(let number, _, _, _), .insertAhead(let number, _),
      .attach(let number, _, _, _):
      [[.put(number, size: 0)], []]
    default: []
    }
  }
}
