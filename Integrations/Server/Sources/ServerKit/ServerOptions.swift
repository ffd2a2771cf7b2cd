public import DivanSync
import Foundation

/// What a server is asked to do by its arguments.
public struct ServerOptions: Sendable {
  /// The databases: their names in paths, and the paths of their stores.
  public var stores: [(name: String, path: String)] = []
  /// The address to listen at.
  public var host = "127.0.0.1"
  /// The port to listen at; 0 for any that is free.
  public var port = 5984
  /// The path of the file with the users.
  public var usersFile: String?
  /// The path of the certificate chain (PEM).
  public var certificateFile: String?
  /// The path of the private key (PEM).
  public var keyFile: String?
  /// Whether all requests come through a proxy that encrypts the connections of clients.
  ///
  /// The proxy says where a request comes from, in the ``proxyHeader``. Only the proxy may be able
  /// to connect, since others could say anything.
  public var isBehindProxy = false
  /// The header in which the proxy says where a request comes from.
  ///
  /// The proxy must write it in each request. Others are not read: a client can send them itself.
  public var proxyHeader = ProxyHeader.xForwardedFor
  /// The limits of the service.
  public var limits = CouchDBService.Limits()
  /// The number of connections at once; more wait until one is closed.
  public var connectionLimit = 2000
  /// The number of connections of each address at once; more are closed.
  ///
  /// It is a quarter of all connections if it is nil. A network of IPv6, of 64 bits, counts as one
  /// address. This machine and a proxy have no such limit.
  public var connectionLimitPerAddress: Int?
  /// Whether addresses of this machine have the limit, too, for tests.
  var limitsThisMachine = false
  /// The time in which something of a request must arrive, and after which an idle connection is
  /// closed.
  public var idleTimeout = Duration.seconds(60)
  /// The time in which requests may end when the server stops.
  public var shutdownTimeout = Duration.seconds(20)
  /// Origins of web pages that may use the server.
  public var origins: [String] = []
  /// Whether each request is logged.
  public var isQuiet = false

  /// Creates the default options.
  public init() {}

  /// A header in which a proxy says where a request comes from.
  public enum ProxyHeader: String, Sendable, CaseIterable {
    /// `X-Forwarded-For`, a list of addresses.
    case xForwardedFor = "x-forwarded-for"
    /// `Forwarded`, of RFC 7239.
    case forwarded
    /// `X-Real-IP`, one address.
    case xRealIP = "x-real-ip"
  }

  /// An argument that cannot be used.
  public struct Invalid: Error, CustomStringConvertible {
    /// What is wrong.
    public let description: String

    /// Creates an error.
    public init(_ description: String) { self.description = description }
  }

  /// The arguments, for people.
  public static let help = """
    Usage:
      DivanServer --store [NAME=]PATH … [--host ADDRESS] [--port NUMBER] [--users FILE]
                  [--tls-certificate FILE --tls-key FILE]
                  [--behind-tls-proxy [--proxy-header NAME]]
                  [--origin ORIGIN …] [--quiet]
                  [--max-document-size BYTES] [--max-body-size BYTES] [--max-attachment-size BYTES]
                  [--max-connections NUMBER] [--max-connections-per-address NUMBER]
                  [--max-requests NUMBER] [--requests-per-second NUMBER]
                  [--idle-timeout SECONDS] [--shutdown-timeout SECONDS]
      DivanServer add-user NAME --users FILE --permission STORE:read|write …
      DivanServer remove-user NAME --users FILE

    add-user reads the password from the environment variable DIVAN_PASSWORD. Without it, a terminal
    is asked, and of another input the first line is read. The store * is for all others.
    The header of the proxy is X-Forwarded-For, Forwarded or X-Real-IP.
    """

  /// Reads arguments.
  ///
  /// - Parameter arguments: The arguments, without the name of the program.
  /// - Throws: ``Invalid``.
  public init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let name = rest.popFirst() {
      switch name {
      case "--quiet":
        isQuiet = true
        continue
      case "--behind-tls-proxy":
        isBehindProxy = true
        continue
      default: break
      }
      guard let value = rest.popFirst() else {
        throw Invalid("The argument \(name) is not known, or its value is missing.")
      }
      try set(name, value)
    }
    guard !stores.isEmpty else { throw Invalid("There is no --store.") }
    guard (certificateFile == nil) == (keyFile == nil) else {
      throw Invalid("--tls-certificate and --tls-key belong together.")
    }
  }

  private mutating func set(_ name: String, _ value: String) throws {
    switch name {
    case "--store": try addStore(value)
    case "--host": host = value
    case "--port": port = try Self.number(name, value, 0...65535)
    case "--users": usersFile = value
    case "--tls-certificate": certificateFile = value
    case "--tls-key": keyFile = value
    case "--proxy-header":
      guard let header = ProxyHeader(rawValue: value.lowercased()) else {
        throw Invalid("The header of a proxy is X-Forwarded-For, Forwarded or X-Real-IP: \(value)")
      }
      proxyHeader = header
    case "--origin": origins.append(value)
    case "--max-document-size": limits.documentSize = try Self.number(name, value)
    case "--max-body-size":
      // One client has half of the memory, and JSON takes more than its bytes.
      let size = try Self.number(name, value, 1...Int.max / 4)
      limits.bodySize = size
      limits.bodyMemory = max(limits.bodyMemory, 4 * size)
    case "--max-attachment-size": limits.attachmentSize = try Self.number(name, value)
    case "--max-connections": connectionLimit = try Self.number(name, value)
    case "--max-connections-per-address":
      connectionLimitPerAddress = try Self.number(name, value)
    case "--max-requests":
      // In the proportions of the limits by default.
      let number = try Self.number(name, value)
      limits.concurrentRequests = number
      limits.concurrentRequestsPerClient = max(1, number / 2)
      limits.requestsWithoutUser = max(1, number / 4)
    case "--requests-per-second":
      limits.requestsPerSecond = Double(try Self.number(name, value))
      limits.requestBurst = 2 * limits.requestsPerSecond
    case "--idle-timeout": idleTimeout = .seconds(try Self.number(name, value, 1...86400))
    case "--shutdown-timeout": shutdownTimeout = .seconds(try Self.number(name, value, 1...86400))
    default: throw Invalid("The argument \(name) is not known.")
    }
  }

  private static func number(
    _ name: String, _ value: String, _ range: ClosedRange<Int> = 1...Int.max
  ) throws -> Int {
    guard let number = Int(value), range.contains(number) else {
      throw Invalid("\(name) is not a number that can be used: \(value)")
    }
    return number
  }

  private mutating func addStore(_ value: String) throws {
    let parts = value.split(separator: "=", maxSplits: 1)
    let path = parts.count == 2 ? String(parts[1]) : value
    let file = URL(filePath: path).deletingPathExtension().lastPathComponent
    let name = parts.count == 2 ? String(parts[0]) : file.lowercased()
    let others = "_$()+-".utf8
    let isLegal = name.utf8.allSatisfy {
      (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || others.contains($0)
    }
    guard isLegal, let first = name.utf8.first, (0x61...0x7A).contains(first) else {
      throw Invalid(
        "“\(name)” is no name of a database: it has a–z, 0–9 and _$()+-, and begins with a letter. "
          + "Choose another one with --store NAME=PATH.")
    }
    guard !stores.contains(where: { $0.name == name }) else {
      throw Invalid("Two stores have the name “\(name)”.")
    }
    stores.append((name, path))
  }

  /// Whether only this machine can connect.
  var isLoopback: Bool { Self.isLoopback(host) }

  /// Whether a host is this machine.
  static func isLoopback(_ host: String) -> Bool {
    if ["localhost", "::1", "[::1]"].contains(host.lowercased()) { return true }
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
    return numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
  }
}
