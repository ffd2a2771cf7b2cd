#if DIVAN_THREAD_SANITIZER
  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Android)
    import Android
  #else
    import Glibc
  #endif

  /// A value that one thread at a time may access, with a lock that the thread sanitizer knows.
  ///
  /// The standard library's `Mutex` waits in the kernel on Linux, where the sanitizer does not see
  /// that one thread released it before another acquired it. It then reports every guarded access
  /// as a race. Builds for the sanitizer therefore use this type (`-Xswiftc
  /// -DDIVAN_THREAD_SANITIZER`).
  ///
  /// `@unchecked Sendable`: `value` is accessed only while `mutex` is locked.
  @safe
  package final class Guarded<Value: ~Copyable>: @unchecked Sendable {
    private var value: Value
    // Allocated so that it never moves; freed with this object, when no thread can use it.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    package init(_ value: consuming Value) {
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

  /// A value that one thread at a time may access: the standard library's `Mutex`.
  package typealias Guarded<Value: ~Copyable> = Mutex<Value>
#endif
