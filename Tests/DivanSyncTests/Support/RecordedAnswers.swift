import Divan
import DivanSync
import Foundation
import Testing

/// Sends recorded requests to a service, and compares its answers with the recorded ones.
///
/// Statuses and JSON must be equal. Each engine makes its own IDs of revisions, positions of
/// changes, entity tags and session tokens. What both answers have in the same place is taken for
/// the same, and replaces the recorded one in the requests that follow.
struct RecordedAnswers {
  private let databases: [String: Database]
  private var configuration = CouchDBService.Configuration()
  private var service: CouchDBService
  /// The texts of this service by the recorded ones.
  private var ours: [String: String]

  /// Creates the comparison for a service with a user in the place of the recorded administrator.
  init(_ databases: [String: Database]) {
    self.databases = databases
    let password = PasswordHash(of: "secret", iterationCount: 1)
    configuration.users = [.init(name: "admin", password: password, permissions: ["*": .write])]
    service = CouchDBService(databases, configuration: configuration)
    func basic(_ text: String) -> String { Data(text.utf8).base64EncodedString() }
    // The recordings have these in the place of credentials.
    ours = [
      "<admin>": basic("admin:secret"), "<wrong>": basic("admin:wrong"),
      "<basic credentials>": "Basic " + basic("admin:secret"), "<user>": "admin",
      "<password>": "secret",
    ]
  }

  /// Sets the size of a document in bytes, which an administrator of CouchDB sets with a request.
  mutating func limitDocuments(to size: Int) {
    configuration.limits.documentSize = size
    service = CouchDBService(databases, configuration: configuration)
  }

  /// Members that are about the engine and its files, and not about documents.
  private static let volatile: Set<String> = [
    // What the engine is, and how it stores; the number of an error in its log; an administrator.
    "git_sha", "uuid", "version", "features", "vendor", "instance_start_time", "sizes", "props",
    "purge_seq", "disk_format_version", "cluster", "ref", "roles",
    // CouchDB compresses texts, and its digest is that of the compressed bytes.
    "digest", "encoding", "encoded_length",
  ]
  /// Members with positions of changes.
  private static let positions: Set<String> = ["seq", "last_seq", "update_seq"]

  /// Sends a request, and returns how the answer differs; empty if it does not.
  mutating func differences(_ exchange: RecordedExchange) async throws -> [String] {
    let request = try #require(
      HTTPRequest(
        exchange.method, target: translated(exchange.target),
        headers: exchange.requestHeaders.mapValues(translated)))
    let text = String(data: exchange.requestBody, encoding: .utf8)
    let body = text.map { Data(translated($0).utf8) } ?? exchange.requestBody
    let response = await service.respond(to: request, body: HTTPBody(body))
    var answer = Data()
    for try await piece in response.body { answer += piece }
    if let cookie = response.headers["set-cookie"]?.prefix(while: { $0 != ";" }) {
      ours["<token>"] = String(cookie.dropFirst("AuthSession=".count))
    }
    if let tag = exchange.headers["etag"] { ours[tag] = response.headers["etag"] }
    guard response.status == exchange.status else {
      return ["the status is \(response.status), \(String(decoding: answer, as: UTF8.self))"]
    }
    guard let expected = try await values(exchange.body, exchange.headers["content-type"]),
      let found = try await values(answer, response.headers["content-type"])
    else {
      return answer == exchange.body || exchange.method == "HEAD" ? [] : ["the content differs"]
    }
    var differences: [String] = []
    compare(.array(expected), .array(found), "answer", &differences)
    return differences
  }

  /// Replaces what each engine makes itself.
  private func translated(_ text: String) -> String {
    ours.reduce(text) { $0.replacing($1.key, with: $1.value) }
  }

  /// The JSON of a body: one value, or one for each part or line; nil if it is not JSON.
  private func values(_ body: Data, _ type: String?) async throws -> [Value]? {
    guard let type, type.hasPrefix("multipart/") else {
      if let value = try? Value(json: body) { return [value] }
      // A continuous feed has a line for each change, and empty lines.
      let lines = String(decoding: body, as: UTF8.self).split(separator: "\n").map {
        $0.hasPrefix("data: ") ? $0.dropFirst("data: ".count) : $0
      }
      let values = lines.compactMap { try? Value(json: String($0)) }
      return values.isEmpty ? nil : values
    }
    let boundary = type.components(separatedBy: "boundary=").last ?? ""
    let reader = MultipartReader(
      HTTPBody(body), boundary: boundary.trimmingCharacters(in: CharacterSet(charactersIn: "\"")))
    var parts: [Value] = []
    while let headers = try await reader.nextPart() {
      var content = Data()
      while let piece = try await reader.nextPiece() { content += piece }
      // The content of an attachment is not JSON, and may be compressed.
      parts.append(.array(try await values(content, headers["content-type"]) ?? []))
    }
    return parts
  }

  // MARK: Comparing

  private mutating func compare(
    _ expected: Value, _ found: Value, _ path: String, _ differences: inout [String]
  ) {
    switch (expected, found) {
    case (.object(let a), .object(let b)):
      for name in Set(a.keys).union(b.keys).sorted() where !Self.volatile.contains(name) {
        guard let theirs = a[name], let ours = b[name] else {
          differences.append("\(path).\(name) is \(a[name] == nil ? "too much" : "missing")")
          continue
        }
        if Self.positions.contains(name), let theirs = theirs.stringValue {
          self.ours[theirs] = ours.stringValue
        }
        compare(theirs, ours, "\(path).\(name)", &differences)
      }
    case (.array(let a), .array(let b)) where a.count == b.count:
      for (index, (theirs, ours)) in zip(ordered(a), ordered(b)).enumerated() {
        compare(theirs, ours, "\(path)[\(index)]", &differences)
      }
    case (.string(let a), .string(let b)):
      guard a != b, ours[a] != b, !learnsRevision(a, b) else { return }
      differences.append("\(path) is “\(b)” and not “\(a)”")
    default:
      guard expected != found else { return }
      differences.append("\(path) is \(found.json) and not \(expected.json)")
    }
  }

  /// Leaf revisions in one order, which the protocol does not define: CouchDB's is another one.
  private func ordered(_ values: [Value]) -> [Value] {
    let areLeaves = values.allSatisfy { value in
      value["ok"] != nil || value[0]?["_rev"] != nil
        || value.stringValue.flatMap { RevisionID($0) } != nil
    }
    return areLeaves ? values.sorted { $0.json < $1.json } : values
  }

  /// Takes two digests of revisions for the same, unless one of them is known already.
  private mutating func learnsRevision(_ theirs: String, _ ours: String) -> Bool {
    let (a, b) = (theirs.suffix(32), ours.suffix(32))
    let generation = theirs.dropLast(32)
    guard a.count == 32, a.allSatisfy(\.isHexDigit), b.allSatisfy(\.isHexDigit),
      generation == ours.dropLast(32), generation.isEmpty || generation.hasSuffix("-")
    else { return false }
    if let known = self.ours[String(a)] { return known == b }
    guard a != b, !self.ours.values.contains(String(b)) else { return false }
    self.ours[String(a)] = String(b)
    return true
  }
}
