import Divan
import DivanSync
import Foundation
import Testing

/// A service for one database, and short words for requests and answers.
struct ServiceFixture {
  let database: Database
  let service: CouchDBService
  let name: String

  init(
    _ name: String = "peer", _ configuration: CouchDBService.Configuration = .init()
  ) throws {
    self.name = name
    database = try Database.inMemory()
    service = CouchDBService([name: database], configuration: configuration)
  }

  /// An answer with its body.
  struct Answer {
    var status: Int
    var headers: [String: String]
    var data: Data

    var text: String { String(decoding: data, as: UTF8.self) }
    var json: Value { (try? Value(json: data)) ?? .null }
    var error: String? { json["error"]?.stringValue }
    var reason: String? { json["reason"]?.stringValue }
    var revision: String { json["rev"]?.stringValue ?? "" }
  }

  /// Sends a request; the path begins after the name of the database, unless it begins with `//`.
  @discardableResult
  func send(
    _ method: String, _ path: String = "", _ body: Value? = nil, headers: [String: String] = [:]
  ) async throws -> Answer {
    var headers = headers
    if body != nil, headers["Content-Type"] == nil { headers["Content-Type"] = "application/json" }
    return try await send(method, path, data: body.map { Data($0.json.utf8) } ?? Data(), headers)
  }

  func send(
    _ method: String, _ path: String, data: Data, _ headers: [String: String],
    from address: String? = nil
  ) async throws -> Answer {
    let response = try await open(method, path, data: data, headers, from: address)
    var answer = Answer(status: response.status, headers: response.headers, data: Data())
    for try await piece in response.body { answer.data.append(piece) }
    return answer
  }

  /// Sends a request, and returns the response before its body.
  func open(
    _ method: String, _ path: String, data: Data = Data(), _ headers: [String: String] = [:],
    from address: String? = nil
  ) async throws -> HTTPResponse {
    let path = path.hasPrefix("//") ? String(path.dropFirst()) : "/\(name)\(path)"
    let url = try #require(URL(string: "http://server.invalid" + path))
    return await service.respond(
      to: HTTPRequest(method, url, headers: headers), body: HTTPBody(pieces: data.pieces(of: 97)),
      from: address)
  }

  /// Stores a conflict of two live leaves and one that is deleted.
  func storeConflict() async throws {
    let (a, b, c) = (Self.digest("a"), Self.digest("b"), Self.digest("c"))
    let (d, e) = (Self.digest("d"), Self.digest("e"))
    func entry(_ start: Int64, _ ids: [String], _ more: Value.Object) -> Value {
      var members = more
      members["_id"] = "c1"
      members["_rev"] = .string("\(start)-\(ids[0])")
      members["_revisions"] = ["start": .int(start), "ids": .array(ids.map { .string($0) })]
      return .object(members)
    }
    let answer = try await send(
      "POST", "/_bulk_docs",
      [
        "new_edits": false,
        "docs": [
          entry(2, [b, a], ["side": "b"]), entry(2, [c, a], ["side": "c"]),
          entry(3, [d, e, a], ["_deleted": true]),
        ],
      ])
    #expect(answer.status == 201 && answer.json == [])
  }

  /// A digest of one digit.
  static func digest(_ digit: Character) -> String { String(repeating: digit, count: 32) }

  /// The rows of an answer that is a list of them.
  static func rows(_ text: String) -> [Value] {
    text.split(separator: "\n").compactMap { try? Value(json: String($0)) }
  }
}
