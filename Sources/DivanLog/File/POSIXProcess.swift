#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#else
  import Glibc
#endif

/// The identity of a thread of this process, while it runs.
package struct ThreadID: Hashable, Sendable {
  private let number: UInt

  /// The calling thread.
  package static var current: ThreadID {
    #if canImport(Darwin) || canImport(Musl)
      // A pointer on these platforms, of which only the bits are used.
      unsafe ThreadID(number: UInt(bitPattern: pthread_self()))
    #elseif canImport(Android)
      ThreadID(number: UInt(bitPattern: pthread_self()))
    #else
      ThreadID(number: UInt(pthread_self()))
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
