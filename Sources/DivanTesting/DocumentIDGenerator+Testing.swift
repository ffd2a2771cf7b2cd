public import Divan
import DivanLog
import Synchronization

extension DocumentIDGenerator {
  /// IDs that count: `id-000001`, `id-000002` and so on, in the order of their bytes up to a million.
  ///
  /// A database that is opened again must be given the same generator, or its IDs begin anew.
  ///
  /// - Parameters:
  ///   - prefix: what the IDs begin with.
  ///   - first: the first one's number.
  /// - Returns: a generator that counts across all databases that are given it.
  public static func sequential(prefix: String = "id-", from first: Int = 1) -> DocumentIDGenerator
  {
    let next = Guarded(first)
    return DocumentIDGenerator {
      let number = next.withLock { next in
        defer { next += 1 }
        return next
      }
      let digits = "\(number)"
      return prefix + String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }
  }

  /// IDs such as programs get them, of 20 characters that ascend with time, but the same in every run.
  ///
  /// - Parameters:
  ///   - seed: what the random part follows from.
  ///   - clock: where the time is read.
  /// - Returns: a generator of its own.
  public static func timeOrdered(seed: UInt64, clock: SimulatedClock) -> DocumentIDGenerator {
    let random = Guarded(SeededGenerator(seed: seed))
    return .timeOrdered(
      millisecondsSince1970: clock.read, random: { random.withLock { $0.next() } })
  }
}
