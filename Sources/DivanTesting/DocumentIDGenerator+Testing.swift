public import Divan
import DivanLog
import Synchronization

extension DocumentIDGenerator {
  /// Returns a generator of IDs that count: `id-000001`, `id-000002` and so on.
  ///
  /// The IDs are in the order of their bytes up to a million. A database that is opened again must
  /// get the same generator, or its IDs start over.
  ///
  /// - Parameters:
  ///   - prefix: the beginning of all IDs.
  ///   - first: the number of the first ID.
  /// - Returns: a generator that counts across all databases that use it.
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

  /// Returns a generator of IDs that are like those of programs, but the same in every run.
  ///
  /// They have 20 characters and ascend with time.
  ///
  /// - Parameters:
  ///   - seed: the seed of the random part.
  ///   - clock: the source of the time.
  /// - Returns: a new generator.
  public static func timeOrdered(seed: UInt64, clock: SimulatedClock) -> DocumentIDGenerator {
    let random = Guarded(SeededGenerator(seed: seed))
    return .timeOrdered(
      millisecondsSince1970: clock.read, random: { random.withLock { $0.next() } })
  }
}
