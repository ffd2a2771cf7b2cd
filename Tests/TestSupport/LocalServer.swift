package import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A server on this machine, with a thread for each connection and a request for each of these.
package final class LocalServer: Sendable {
  package struct Failure: Error {}

  /// A request as it arrived.
  package struct Request: Sendable {
    /// The request line and the headers.
    package var head: String
    package var body: Data
  }

  package let port: UInt16
  private let descriptor: Int32
  private let received = Mutex<[Request]>([])

  /// Starts a server that answers each request with bytes, and keeps the requests.
  package convenience init(_ answer: @escaping @Sendable (Request) -> [Data]) throws {
    try self.init(port: 0, keepsRequests: true) { request, send in
      for piece in answer(request) where !send(piece) { return }
    }
  }

  /// Starts a server, which runs until the process ends.
  ///
  /// - Parameters:
  ///   - port: The port; 0 lets the system choose one.
  ///   - keepsRequests: Whether ``requests`` has them.
  ///   - answer: Answers a request with calls of `send`, which returns false if the connection is
  ///     gone.
  /// - Throws: ``Failure`` if the port cannot be used.
  package init(
    port: UInt16, keepsRequests: Bool,
    answer: @escaping @Sendable (Request, _ send: (Data) -> Bool) -> Void
  ) throws {
    #if canImport(Darwin)
      let type = SOCK_STREAM
    #else
      let type = Int32(SOCK_STREAM.rawValue)
    #endif
    descriptor = socket(AF_INET, type, 0)
    guard descriptor >= 0 else { throw Failure() }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(descriptor, $0, size) == 0 && listen(descriptor, 64) == 0
          && getsockname(descriptor, $0, &size) == 0
      }
    }
    guard isBound else { throw Failure() }
    self.port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [self] in
      while true {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { return }
        Thread.detachNewThread { [self] in
          if let request = Self.receive(from: connection) {
            if keepsRequests { received.withLock { $0.append(request) } }
            answer(request) { Self.send($0, to: connection) }
          }
          close(connection)
        }
      }
    }
  }

  package func url(_ path: String) throws -> URL {
    guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else { throw Failure() }
    return url
  }

  package var requests: [Request] { received.withLock { $0 } }

  private static func receive(from connection: Int32) -> Request? {
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      if let end = data.range(of: Data("\r\n\r\n".utf8)) {
        let head = String(decoding: data[..<end.lowerBound], as: UTF8.self)
        let body = data[end.upperBound...]
        if body.count >= length(in: head) { return Request(head: head, body: Data(body)) }
      }
      let count = unsafe recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return nil }
      data.append(contentsOf: buffer[..<count])
    }
  }

  private static func length(in head: String) -> Int {
    for line in head.split(separator: "\r\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2, parts[0].lowercased() == "content-length" else { continue }
      return Int(parts[1].trimmingCharacters(in: .whitespaces)) ?? 0
    }
    return 0
  }

  private static func send(_ data: Data, to connection: Int32) -> Bool {
    var rest = data[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes {
        #if canImport(Darwin)
          unsafe Darwin.send(connection, $0.baseAddress, $0.count, 0)
        #elseif canImport(Musl)
          unsafe Musl.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        #else
          unsafe Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        #endif
      }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}
