#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The identity of a thread of this process, while it runs.
package struct ThreadID: Hashable, Sendable {
  private let number: UInt

  /// The calling thread.
  package static var current: ThreadID {
    #if canImport(Glibc)
      ThreadID(number: UInt(pthread_self()))
    #else
      // A pointer on this platform, of which only the bits are used.
      unsafe ThreadID(number: UInt(bitPattern: pthread_self()))
    #endif
  }
}

/// Milliseconds since 1970 by the machine's clock.
package func systemTime() -> UInt64 {
  var time = timespec()
  // If the call fails, the time stays zero.
  _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
  return UInt64(clamping: time.tv_sec) * 1000 + UInt64(clamping: time.tv_nsec) / 1_000_000
}

/// The system's number for this process.
package func processID() -> Int32 { getpid() }
