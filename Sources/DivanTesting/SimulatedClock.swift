import DivanLog
import Synchronization

/// A clock that a test moves.
///
/// It goes on by one step each time it is read, so that no two moments are the same, and by whatever
/// the test says. It never waits for anything. Give it to a database that is on no simulated disk by
///
/// ```swift
/// let clock = SimulatedClock()
/// var configuration = Configuration()
/// configuration.now = clock.read
/// ```
///
/// A ``SimulatedDisk`` has one already: ``SimulatedDisk/clock``.
public final class SimulatedClock: Sendable {
  /// How far each reading moves the clock, in milliseconds.
  public let stepMilliseconds: UInt64
  private let time: Guarded<UInt64>

  /// Makes a clock.
  ///
  /// - Parameters:
  ///   - start: what the first reading gives, in milliseconds since 1970; a moment in November 2023
  ///     unless another is given.
  ///   - stepMilliseconds: how far each reading moves the clock; 0 for one that stands still.
  public init(
    millisecondsSince1970 start: UInt64 = 1_700_000_000_000, stepMilliseconds: UInt64 = 1
  ) {
    self.stepMilliseconds = stepMilliseconds
    time = Guarded(start)
  }
}

extension SimulatedClock {
  /// The time in milliseconds since 1970; after that the clock goes on by one step.
  public func read() -> UInt64 {
    time.withLock { time in
      defer { time &+= stepMilliseconds }
      return time
    }
  }

  /// Moves the clock; back, if `duration` is negative, as happens to real clocks.
  public func advance(by duration: Duration) {
    let (seconds, attoseconds) = duration.components
    let milliseconds = seconds &* 1000 &+ attoseconds / 1_000_000_000_000_000
    time.withLock { $0 = $0 &+ UInt64(bitPattern: milliseconds) }
  }

  /// What the next reading will give, in milliseconds since 1970.
  ///
  /// Looking does not move the clock.
  public var nextReading: UInt64 {
    get { time.withLock { $0 } }
    set { time.withLock { $0 = newValue } }
  }

  /// A clock of its own that goes on from here.
  func copy() -> SimulatedClock {
    SimulatedClock(millisecondsSince1970: nextReading, stepMilliseconds: stepMilliseconds)
  }
}
