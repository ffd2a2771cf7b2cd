#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A thread of this process, for as long as it runs.
package struct ThreadID: Hashable, Sendable {
  private let number: UInt

  /// The thread that asks.
  package static var current: ThreadID {
    #if canImport(Glibc)
      ThreadID(number: UInt(pthread_self()))
    #else
      // A pointer here, of which only the bits are used.
      unsafe ThreadID(number: UInt(bitPattern: pthread_self()))
    #endif
  }
}

/// Milliseconds since 1970 by the machine's clock.
package func systemTime() -> UInt64 {
  var time = timespec()
  // Should it fail, the time stays zero.
  _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
  return UInt64(clamping: time.tv_sec) * 1000 + UInt64(clamping: time.tv_nsec) / 1_000_000
}

/// The number by which the system knows this process.
package func processID() -> Int32 { getpid() }
