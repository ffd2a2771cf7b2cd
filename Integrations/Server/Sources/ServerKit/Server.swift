import Divan
import DivanSync
import Foundation
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore
import NIOSSL
import ServiceLifecycle
import Synchronization
public import UnixSignals

/// Serves stores with CouchDB's protocol.
///
/// ```swift
/// let server = try Server(options)
/// try await server.run()      // until SIGTERM or SIGINT
/// ```
public struct Server: Sendable {
  let options: ServerOptions
  let databases: [String: Database]
  let service: CouchDBService
  private let hasUsers: Bool
  private let builder: HTTPServerBuilder
  /// The number of connections at once, which the system may limit, too.
  private let connectionLimit: Int
  private let log: @Sendable (String) -> Void
  /// The services that run, so that they can be stopped.
  private let running = RunningGroup()

  /// Opens the stores, and reads the users and the certificate.
  ///
  /// - Parameters:
  ///   - options: The options.
  ///   - log: Receives lines for people: one for each request, and what is worth knowing.
  /// - Throws: ``ServerOptions/Invalid`` if others than this machine could connect without being
  ///   users; an error of a store or of a file.
  public init(
    _ options: ServerOptions, log: @escaping @Sendable (String) -> Void = { print($0) }
  ) throws {
    self.options = options
    self.log = log
    var configuration = CouchDBService.Configuration()
    configuration.limits = options.limits
    configuration.hasSecureCookies = options.certificateFile != nil || options.isBehindProxy
    configuration.allowedOrigins = Set(options.origins)
    if let path = options.usersFile { configuration.users = try UsersFile(contentsOf: path).users }
    try Self.requireUsers(configuration, options)
    if !options.isQuiet { configuration.eventHandler = { log($0.description) } }
    connectionLimit = OpenFileLimit.connectionCount(wanted: options.connectionLimit)
    builder = try Self.builder(options, connectionLimit: connectionLimit)
    var databases: [String: Database] = [:]
    do {
      for (name, path) in options.stores { databases[name] = try Database(at: path) }
    } catch {
      for database in databases.values { try? database.close() }
      throw error
    }
    self.databases = databases
    hasUsers = configuration.users != nil
    service = CouchDBService(databases, configuration: configuration)
    if !options.isLoopback, !options.isBehindProxy, options.certificateFile == nil {
      log("Passwords are sent without encryption: use --tls-certificate, or a proxy with TLS.")
    }
  }

  /// Refuses what would let others than this machine read and write without being users.
  private static func requireUsers(
    _ configuration: CouchDBService.Configuration, _ options: ServerOptions
  ) throws {
    guard (configuration.users ?? []).isEmpty else { return }
    let remedy = "Add users with “add-user”, and name their file with --users."
    guard !options.isBehindProxy else {
      throw ServerOptions.Invalid("A proxy lets others connect, and there are no users. " + remedy)
    }
    guard options.isLoopback else {
      throw ServerOptions.Invalid(
        "Without users only this machine may connect, and \(options.host) is an address for others. "
          + remedy)
    }
  }

  private static func builder(
    _ options: ServerOptions, connectionLimit: Int
  ) throws -> HTTPServerBuilder {
    let idleTimeout = TimeAmount.nanoseconds(Int64(options.idleTimeout / .nanoseconds(1)))
    let sizeLimit = max(options.limits.attachmentSize, options.limits.bodySize)
    let addressLimit = options.connectionLimitPerAddress ?? max(1, connectionLimit / 4)
    let addresses = AddressCounter(
      limit: options.isBehindProxy ? .max : addressLimit,
      includesThisMachine: options.limitsThisMachine)
    let http = HTTPServerBuilder.http1(
      configuration: .init(
        additionalChannelHandlers: [
          AddressLimitHandler(addresses), ContinueHandler(sizeLimit: sizeLimit),
          UnreadResponseHandler(timeout: idleTimeout),
        ],
        idleTimeout: idleTimeout,
        httpDecoderConfiguration: .init(
          maxHeaderFieldSize: options.limits.urlSize + options.limits.headerSize,
          maxHeaderListSize: options.limits.urlSize + options.limits.headerSize)))
    guard let certificate = options.certificateFile, let key = options.keyFile else { return http }
    let chain = try NIOSSLCertificate.fromPEMFile(certificate)
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) },
      privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
    configuration.minimumTLSVersion = .tlsv12
    return try .tls(http, tlsConfiguration: configuration)
  }

  /// Serves until a signal ends the process gracefully, or the task is cancelled.
  ///
  /// Afterwards the stores are closed.
  ///
  /// - Parameters:
  ///   - signals: The signals that end it.
  ///   - onStart: Gets the port when connections are accepted.
  /// - Throws: An error of listening, or of closing a store.
  public func run(
    signals: [UnixSignal] = [.sigterm, .sigint],
    onStart: @escaping @Sendable (Int) -> Void = { _ in }
  ) async throws {
    var logger = Logger(label: "DivanServer")
    logger.logLevel = .error
    let (options, log) = (options, log)
    let responder = ServiceResponder(
      service: service, idleTimeout: options.idleTimeout, isLocal: !hasUsers,
      proxyHeader: options.isBehindProxy ? options.proxyHeader : nil,
      log: { line in
        if !options.isQuiet { log(line) }
      })
    if connectionLimit < options.connectionLimit {
      log("The system allows \(connectionLimit) connections at once: see `ulimit -n`.")
    }
    let application = Application(
      responder: responder, server: builder,
      configuration: ApplicationConfiguration(
        address: .hostname(options.host, port: options.port), backlog: 1024,
        availableConnectionsDelegate: MaximumAvailableConnections(
          connectionLimit, logger: logger)),
      onServerRunning: { channel in
        let port = channel.localAddress?.port ?? 0
        log("Listening at \(options.host):\(port).")
        onStart(port)
      }, logger: logger)
    var configuration = ServiceGroupConfiguration(
      services: [.init(service: application)], gracefulShutdownSignals: signals, logger: logger)
    configuration.maximumGracefulShutdownDuration = options.shutdownTimeout
    let group = ServiceGroup(configuration: configuration)
    running.set(group)
    let result: Result<Void, any Error>
    do {
      result = .success(try await group.run())
    } catch {
      result = .failure(error)
    }
    try close()
    log("The stores are closed.")
    try result.get()
  }

  /// Ends ``run(signals:onStart:)`` as a signal does.
  public func stop() async { await running.group?.triggerGracefulShutdown() }

  /// Closes the stores.
  func close() throws {
    var failure: (any Error)?
    for database in databases.values {
      do {
        try database.close()
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }
}

/// The services of a server while it runs.
private final class RunningGroup: Sendable {
  private let value = Mutex<ServiceGroup?>(nil)

  var group: ServiceGroup? { value.withLock { $0 } }

  func set(_ group: ServiceGroup) { value.withLock { $0 = group } }
}
