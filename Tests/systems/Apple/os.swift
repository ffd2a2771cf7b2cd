// What Divan uses of the module `os` on Apple's platforms, declared as there.
//
// `Tests/other-systems` type-checks Divan with it. It writes nothing.

/// The level of an entry.
public struct OSLogType: Equatable, Sendable {
  /// Its number in the system.
  public let rawValue: UInt8

  /// Kept by default.
  public static let `default` = OSLogType(rawValue: 0)
  /// Kept in memory.
  public static let info = OSLogType(rawValue: 1)
  /// For developers.
  public static let debug = OSLogType(rawValue: 2)
  /// A failure.
  public static let error = OSLogType(rawValue: 16)
  /// A bug.
  public static let fault = OSLogType(rawValue: 17)
}

/// Who may see a value.
public struct OSLogPrivacy: Sendable {
  /// Every reader of the log.
  public static var `public`: OSLogPrivacy { OSLogPrivacy() }
  /// A debugger only.
  public static var `private`: OSLogPrivacy { OSLogPrivacy() }
  /// By the type of the value.
  public static var auto: OSLogPrivacy { OSLogPrivacy() }
}

/// The width of a value.
public struct OSLogStringAlignment: Sendable {
  /// As it is.
  public static var none: OSLogStringAlignment { OSLogStringAlignment() }
}

/// The parts of a message.
public struct OSLogInterpolation: StringInterpolationProtocol {
  /// Creates no parts.
  public init(literalCapacity: Int, interpolationCount: Int) {}

  /// Adds text.
  public mutating func appendLiteral(_ literal: String) {}

  /// Adds a value.
  public mutating func appendInterpolation(
    _ argumentString: @autoclosure @escaping () -> String,
    align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto
  ) {}
}

/// A message, whose text the compiler sees.
public struct OSLogMessage: ExpressibleByStringInterpolation {
  /// Creates a message of parts.
  public init(stringInterpolation: OSLogInterpolation) {}

  /// Creates a message of text.
  public init(stringLiteral value: String) {}
}

/// Writes to the log.
public struct Logger: Sendable {
  /// Creates a logger of a category.
  public init(subsystem: String, category: String) {}

  /// Writes a message.
  public func log(level: OSLogType, _ message: OSLogMessage) {}
}
