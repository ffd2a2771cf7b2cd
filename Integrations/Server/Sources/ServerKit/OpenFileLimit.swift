#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The number of files and connections that the system lets this process have open.
enum OpenFileLimit {
  /// What is left for stores and for the program itself.
  private static let reserve = 200

  /// Raises the limit if it can, and returns how many connections fit into it.
  ///
  /// Shells often allow 1,024. A server beyond that could accept nothing and open no file.
  static func connectionCount(wanted: Int) -> Int {
    var limits = rlimit()
    guard unsafe getrlimit(resource, &limits) == 0 else { return wanted }
    let needed = rlim_t(clamping: wanted &+ reserve)
    if limits.rlim_cur < needed {
      limits.rlim_cur = min(needed, limits.rlim_max)
      _ = unsafe setrlimit(resource, &limits)
      guard unsafe getrlimit(resource, &limits) == 0 else { return wanted }
    }
    return count(wanted: wanted, openFiles: Int(clamping: limits.rlim_cur))
  }

  static func count(wanted: Int, openFiles: Int) -> Int {
    min(wanted, max(openFiles - reserve, openFiles / 2, 1))
  }

  #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
    private static let resource = RLIMIT_NOFILE
  #endif
}
