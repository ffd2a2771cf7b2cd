import Divan
import DivanSync
import Foundation
import Testing

/// Sends recorded requests to a service, and compares its answers with the recorded ones.
///
/// Revision IDs that each engine makes itself differ, and so do positions of changes. They are
/// learned where both answers have one at the same place, and put into the requests that follow.
struct RecordedAnswers {
  let service: CouchDBService
  /// The texts of this service by the recorded ones.
  private var ours: [String: String] = [:]
  /// The recorded texts by those of this service.
  private var theirs: [String: String] = [:]

  init(_ service: CouchDBService) { self.service = service }

  /// Members whose values depend on the engine and the moment.
  private static let volatile: Set<String> = [
    "git_sha", "uuid", "version", "features", "vendor", "instance_start_time", "sizes", "props",
    "purge_seq", "disk_format_version", "cluster", "compact_running", "ref", "digest",
    "encoded_length", "encoding", "start_time", "end_time",
  ]
  /// Members with positions of changes.
  private static let positions: Set<String> = ["seq", "last_seq", "update_seq"]

  /// Sends a request, and returns how the answer differs; empty if it does not.
  mutating func differences(_ exchange: RecordedExchange) async throws -> [String] {
    let url = try #require(URL(string: "http://server.invalid" + translated(exchange.target)))
    var headers = exchange.requestHeaders
    // Recorded with placeholders, and this service has no users.
    for name in ["authorization", "cookie"] { headers[name] = nil }
    let isText = String(data: exchange.requestBody, encoding: .utf8) != nil
    let body =
      isText
      ? Data(translated(String(decoding: exchange.requestBody, as: UTF8.self)).utf8)
      : exchange.requestBody
    if !body.isEmpty { headers["content-length"] = "\(body.count)" }
    let response = await service.respond(
      to: HTTPRequest(exchange.method, url, headers: headers), body: HTTPBody(body))
    var answer = Data()
    for try await piece in response.body { answer += piece }
    guard response.status == exchange.status else {
      return [
        "the status is \(response.status): \(String(decoding: answer.prefix(300), as: UTF8.self))"
      ]
    }
    guard let expected = try await parts(exchange.body, exchange.headers["content-type"]),
      let found = try await parts(answer, response.headers["content-type"])
    else {
      return answer == exchange.body || exchange.method == "HEAD" ? [] : ["the content differs"]
    }
    guard expected.count == found.count else { return ["there are \(found.count) parts"] }
    var differences: [String] = []
    for (a, b) in zip(expected, found) { compare(a, b, "", &differences) }
    return differences
  }

  /// Replaces what each engine makes itself.
  private func translated(_ text: String) -> String {
    var text = text
    for (theirs, ours) in ours where text.contains(theirs) {
      text = text.replacingOccurrences(of: theirs, with: ours)
    }
    return text
  }

  /// The JSON of a body, one value for each part or line; nil if it is not JSON.
  private func parts(_ body: Data, _ type: String?) async throws -> [Value]? {
    if let type, type.hasPrefix("multipart/") {
      let boundary = type.components(separatedBy: "boundary=").last ?? ""
      let reader = MultipartReader(
        HTTPBody(body), boundary: boundary.trimmingCharacters(in: CharacterSet(charactersIn: "\"")))
      var values: [Value] = []
      while let headers = try await reader.nextPart() {
        var content = Data()
        while let piece = try await reader.nextPiece() { content += piece }
        // The content of an attachment has no JSON, and may be compressed.
        values += try await parts(content, headers["content-type"]) ?? []
      }
      return values
    }
    if let value = try? Value(json: body) { return [value] }
    // A continuous feed is a line for each change, and empty lines.
    let lines = body.split(separator: UInt8(ascii: "\n"))
    let values = lines.compactMap { try? Value(json: Data($0)) }
    return values.isEmpty || values.count < lines.count ? nil : values
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
        if Self.positions.contains(name) {
          if let theirs = theirs.stringValue, let ours = ours.stringValue { learn(theirs, ours) }
        } else {
          compare(theirs, ours, "\(path).\(name)", &differences)
        }
      }
    case (.array(let a), .array(let b)):
      guard a.count == b.count else {
        differences.append("\(path) has \(b.count) elements and not \(a.count)")
        return
      }
      for (index, (theirs, ours)) in zip(a, b).enumerated() {
        compare(theirs, ours, "\(path)[\(index)]", &differences)
      }
    case (.string(let a), .string(let b)):
      let (theirs, ours) = (Self.digest(in: a), Self.digest(in: b))
      if let theirs, let ours, a.dropLast(32) == b.dropLast(32),
        self.ours[theirs] == nil, self.theirs[ours] == nil
      {
        learn(theirs, ours)
      }
      let known = ours.map { self.theirs[$0] ?? $0 }
      if a != b, theirs == nil || known != theirs || a.dropLast(32) != b.dropLast(32) {
        differences.append("\(path) is “\(b)” and not “\(a)”")
      }
    default:
      if expected != found {
        differences.append("\(path) is \(found.json) and not \(expected.json)")
      }
    }
  }

  private mutating func learn(_ theirs: String, _ ours: String) {
    guard theirs != ours else { return }
    self.ours[theirs] = ours
    self.theirs[ours] = theirs
  }

  /// The digest of a revision ID, or of an element of a history.
  private static func digest(in text: String) -> String? {
    let digest = text.suffix(32)
    guard digest.count == 32, digest.allSatisfy({ $0.isHexDigit }) else { return nil }
    let rest = text.dropLast(32)
    return rest.isEmpty || (rest.hasSuffix("-") && Int(rest.dropLast()) != nil)
      ? String(digest) : nil
  }
}
