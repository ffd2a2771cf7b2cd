import DivanSync
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import ServiceLifecycle

/// The connection that a request came from.
struct ConnectionContext: InitializableFromSource {
  let channel: any Channel

  init(source: ApplicationRequestContextSource) { channel = source.channel }
}

/// Translates between the requests of Hummingbird and those of the service.
struct ServiceResponder: HTTPResponder {
  let service: CouchDBService
  let idleTimeout: Duration
  /// Whether requests must come from this machine itself, because there are no users.
  ///
  /// They must name this machine as their host: a web page can make the name of its own host lead
  /// to this machine. And no proxy may have passed them on, which would do so for everyone.
  let isLocal: Bool
  /// The header in which a proxy says where requests come from; nil without a proxy.
  let proxyHeader: ServerOptions.ProxyHeader?
  /// Receives a line for each request that the service never sees.
  let log: @Sendable (String) -> Void

  func respond(to request: Request, context: ConnectionContext) async throws -> Response {
    var headers: [String: String] = [:]
    for field in request.headers {
      let name = field.name.canonicalName
      let separator = name == "cookie" ? "; " : ", "
      headers[name] = headers[name].map { $0 + separator + field.value } ?? field.value
    }
    headers["host"] = request.head.authority
    if isLocal, !Self.isLoopback(headers["host"] ?? "localhost") {
      return refusal(403, "forbidden", "Without users only this machine may connect.", request)
    }
    if isLocal, ForwardedAddress.isForwarded(headers) {
      return refusal(
        403, "forbidden", "Behind a proxy, the server needs users and --behind-tls-proxy.", request)
    }
    let served = DivanSync.HTTPRequest(
      request.method.rawValue, target: request.head.path ?? "", headers: headers)
    guard let served else {
      return refusal(400, "bad_request", "The URL is invalid.", request)
    }
    let body = PacedBody(base: request.body, grace: idleTimeout)
    let peer = context.channel.remoteAddress?.ipAddress
    let address = proxyHeader.flatMap { ForwardedAddress.text(in: headers, $0) } ?? peer
    let answer = await service.respond(to: served, body: HTTPBody(body), from: address)
    if body.isTooSlow {
      return refusal(
        408, "request_timeout", "The body came too slowly.", request, isLast: true)
    }
    return try await response(answer, request, body)
  }

  private static func isLoopback(_ authority: String) -> Bool {
    var host = authority
    if let end = authority.lastIndex(of: "]") {
      host = String(authority[...end])
    } else if let colon = authority.lastIndex(of: ":") {
      host = String(authority[..<colon])
    }
    return ServerOptions.isLoopback(host)
  }

  private func refusal(
    _ status: Int, _ error: String, _ reason: String, _ request: Request, isLast: Bool = false
  ) -> Response {
    // The target may have anything in it, so it is not logged.
    log("\(request.method.rawValue.prefix(20)) … \(status) \(error) -")
    let buffer = ByteBuffer(string: "{\"error\":\"\(error)\",\"reason\":\"\(reason)\"}\n")
    var fields: HTTPFields = [.contentType: "application/json"]
    guard isLast else {
      return Response(
        status: .init(code: status), headers: fields, body: ResponseBody(byteBuffer: buffer))
    }
    fields[.connection] = "close"
    return Response(
      status: .init(code: status), headers: fields,
      body: ResponseBody(contentLength: buffer.readableBytes) { writer in
        try await writer.write(buffer)
        try await writer.finish(nil)
        throw CutConnection()
      })
  }

  private func response(
    _ answer: DivanSync.HTTPResponse, _ request: Request, _ body: PacedBody
  ) async throws -> Response {
    var fields = HTTPFields()
    var length: Int?
    for (name, value) in answer.headers {
      if name == "content-length" { length = Int(value) }
      if let name = HTTPField.Name(name) { fields[name] = value }
    }
    let status = HTTPTypes.HTTPResponse.Status(code: answer.status)
    // What was refused may go on for long, so the connection ends then.
    let isLate = answer.status == 408
    let isCut = answer.status >= 400 && !body.isRead && (isLate || body.mayBeLong(request))
    if isCut { fields[.connection] = "close" }
    if request.method == .head || answer.status == 304 {
      return Response(status: status, headers: fields, body: ResponseBody())
    }
    if let length, length <= 1 << 16, !isCut {
      var buffer = ByteBuffer()
      for try await piece in answer.body { buffer.writeBytes(piece) }
      return Response(status: status, headers: fields, body: ResponseBody(byteBuffer: buffer))
    }
    let service = service
    let responseBody = ResponseBody(contentLength: length) { writer in
      try await withGracefulShutdownHandler {
        for try await piece in answer.body { try await writer.write(ByteBuffer(bytes: piece)) }
      } onGracefulShutdown: {
        service.endFeeds()
      }
      try await writer.finish(nil)
      if isCut { throw CutConnection() }
    }
    return Response(status: status, headers: fields, body: responseBody)
  }

  /// The response was sent, and the rest of the request is not read.
  private struct CutConnection: Error {}
}
