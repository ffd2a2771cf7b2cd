#if canImport(os)
  import os

  extension DatabaseEvent.Handler {
    /// A handler that writes events to the system's log, on Apple's platforms.
    ///
    /// Levels are those of `OSLogType`: `info` and `notice` (`default`), and `error` for
    /// warnings and errors. Kinds and messages are public. ``DatabaseEvent/details``, which have
    /// paths, document IDs and values, are private: the system redacts them outside of a debugger.
    ///
    /// - Parameters:
    ///   - subsystem: Your program's identifier in the log, such as `com.example.notes`.
    ///   - category: The category in the log.
    /// - Returns: The handler.
    public static func systemLog(subsystem: String, category: String = "Divan") -> Self {
      let logger = Logger(subsystem: subsystem, category: category)
      return Self { event in
        logger.log(
          level: event.level.systemType,
          "\(event.kind.description, privacy: .public): \(event.message, privacy: .public) (\(event.details, privacy: .private))"
        )
      }
    }
  }

  extension DatabaseEvent.Level {
    fileprivate var systemType: OSLogType {
      switch self {
      case .info: .info
      case .notice: .default
      case .warning, .error: .error
      }
    }
  }
#endif
