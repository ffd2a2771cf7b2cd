#if DIVAN_THREAD_SANITIZER
  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// A value that one thread at a time may touch, behind a lock that the thread sanitizer understands.
  ///
  /// The standard library's `Mutex` waits in the kernel on Linux, where the sanitizer does not see
  /// that one thread let go of it before another took it: it then reports every guarded access as a
  /// race. Builds for the sanitizer therefore use this one (`-Xswiftc -DDIVAN_THREAD_SANITIZER`).
  ///
  /// `@unchecked Sendable`: `value` is touched only while `mutex` is locked.
  @safe
  package final class Guarded<Value>: @unchecked Sendable {
    private var value: Value
    // Allocated so that it never moves; freed with this object, when nobody can hold it.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    package init(_ value: Value) {
      self.value = value
      unsafe mutex = .allocate(capacity: 1)
      unsafe mutex.initialize(to: pthread_mutex_t())
      unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
      unsafe pthread_mutex_destroy(mutex)
      unsafe mutex.deallocate()
    }

    package func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
      unsafe pthread_mutex_lock(mutex)
      defer { unsafe pthread_mutex_unlock(mutex) }
      return try body(&value)
    }
  }
#else
  package import Synchronization

  /// A value that one thread at a time may touch: the standard library's `Mutex`.
  package typealias Guarded<Value: ~Copyable> = Mutex<Value>
#endif
