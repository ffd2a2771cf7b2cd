import DivanLog
import Synchronization

/// A clock that a test moves.
///
/// It advances by one step each time it is read, so that no two readings are the same, and whenever
/// the test moves it. It never waits. Give it to a database that is on no simulated
/// disk like this:
///
/// ```swift
/// let clock = SimulatedClock()
/// var configuration = Configuration()
/// configuration.now = clock.read
/// ```
///
/// A ``SimulatedDisk`` has one already: ``SimulatedDisk/clock``.
public final class SimulatedClock: Sendable {
  /// The number of milliseconds by which each reading advances the clock.
  public let stepMilliseconds: UInt64
  private let time: Guarded<UInt64>

  /// Creates a clock.
  ///
  /// - Parameters:
  ///   - start: the first reading, in milliseconds since 1970; by default, a time in November
  ///     2023.
  ///   - stepMilliseconds: the number of milliseconds by which each reading advances the clock; 0
  ///     for a clock that only the test moves.
  public init(
    millisecondsSince1970 start: UInt64 = 1_700_000_000_000, stepMilliseconds: UInt64 = 1
  ) {
    self.stepMilliseconds = stepMilliseconds
    time = Guarded(start)
  }
}

extension SimulatedClock {
  /// Returns the time in milliseconds since 1970, and then advances the clock by one step.
  public func read() -> UInt64 {
    time.withLock { time in
      defer { time &+= stepMilliseconds }
      return time
    }
  }

  /// Moves the clock, back if `duration` is negative, as happens to real clocks.
  public func advance(by duration: Duration) {
    let (seconds, attoseconds) = duration.components
    let milliseconds = seconds &* 1000 &+ attoseconds / 1_000_000_000_000_000
    time.withLock { $0 = $0 &+ UInt64(bitPattern: milliseconds) }
  }

  /// The next reading, in milliseconds since 1970.
  ///
  /// Getting it does not move the clock.
  public var nextReading: UInt64 {
    get { time.withLock { $0 } }
    set { time.withLock { $0 = newValue } }
  }

  /// Returns a separate clock that continues from here.
  func copy() -> SimulatedClock {
    SimulatedClock(millisecondsSince1970: nextReading, stepMilliseconds: stepMilliseconds)
  }
}
