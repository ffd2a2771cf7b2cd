import Divan
import Foundation

/// The parameters of `_all_docs`.
private struct AllDocumentsRequest: Sendable {
  var keys: [String]?
  var start: String?
  var end: String?
  var includesEnd = true
  var isDescending = false
  var limit = Int.max
  var skip = 0
  var includesDocuments = false
  var options = DocumentOptions()

  init(_ call: ServiceCall) async throws {
    var body: Value = .null
    if call.method == "POST" {
      try call.requireJSON()
      body = try await call.json()
    }
    func parameter(_ names: String...) throws -> Value? {
      for name in names {
        if let value = body[name] { return value }
        if let value = try call.value(name) { return value }
      }
      return nil
    }
    func flag(_ name: String) throws -> Bool {
      guard let value = body[name] else { return try call.isOn(name) }
      guard let flag = value.boolValue else { throw ServiceCall.invalid(name, value.json) }
      return flag
    }
    func number(_ name: String) throws -> Int? {
      guard let value = body[name] else { return try call.number(name) }
      guard let number = value.intValue, number >= 0 else {
        throw ServiceCall.invalid(name, value.json)
      }
      return number
    }
    if let value = try parameter("keys") {
      guard let list = value.arrayValue else {
        throw ServiceError.badRequest("`keys` parameter must be an array.")
      }
      keys = try list.map { try Self.id($0) }
    }
    start = try parameter("startkey", "start_key").map { try Self.id($0) }
    end = try parameter("endkey", "end_key").map { try Self.id($0) }
    if let key = try parameter("key") {
      start = try Self.id(key)
      end = start
    } else if body["inclusive_end"] != nil || call.query["inclusive_end"] != nil {
      includesEnd = try flag("inclusive_end")
    }
    isDescending = try flag("descending")
    limit = try number("limit") ?? .max
    skip = try number("skip") ?? 0
    includesDocuments = try flag("include_docs")
    options.conflicts = try flag("conflicts")
    options.isInline = try flag("attachments")
    options.leavesLargeOut = true
  }

  private static func id(_ value: Value) throws -> String {
    guard let text = value.stringValue else {
      throw ServiceError(
        400, "query_parse_error", "A key must be a string: \(value.json.prefix(100))")
    }
    return text
  }

  /// The range of the IDs, from its first to its last in byte order.
  var range: IDRange {
    let (first, last) = isDescending ? (end, start) : (start, end)
    // In descending order the first one may be excluded, which is skipped then.
    guard let last else { return IDRange(from: first) }
    return isDescending || includesEnd
      ? IDRange(from: first, through: last) : IDRange(from: first, upTo: last)
  }

  /// The ID at which a descending list ends, and which it does not have.
  var excluded: String? { isDescending && !includesEnd ? end : nil }
}

extension DatabaseService {
  /// Answers with the documents by their IDs, which are read while they are sent.
  func allDocuments(_ call: ServiceCall) async throws -> HTTPResponse {
    let request = try await AllDocumentsRequest(call)
    let count = try await database.read { try $0.count }
    let service = self
    return HTTPResponse(
      status: 200, headers: ["content-type": "application/json"],
      body: HTTPBody(call.answerMemory) {
        var rows = DocumentRows(service: service, request: request)
        var isStarted = false
        return {
          guard !rows.isEnded else { return nil }
          let (current, isFirst) = (rows, !isStarted)
          let (found, next) = try await service.database.read { snapshot in
            var rows = current
            return (try rows.next(in: snapshot), rows)
          }
          rows = next
          isStarted = true
          // The number of IDs before a key is not known without counting them.
          let isWhole = request.keys == nil && request.start == nil && !request.isDescending
          let offset = isWhole ? "\(request.skip)" : "null"
          let head = "{\"total_rows\":\(count),\"offset\":\(offset),\"rows\":[\n"
          var answer = AnswerParts(isFirst ? head : "")
          answer.append(found)
          if rows.isEnded { answer.append("\n]}\n") }
          return answer.parts
        }
      })
  }
}

/// The rows of `_all_docs`, some at a time.
///
/// Each time they are read from the database as it is then, so that a slow reader keeps no old
/// version of it.
private struct DocumentRows: Sendable {
  let service: DatabaseService
  let request: AllDocumentsRequest
  var isEnded = false
  private var rowCount = 0
  private var skipped = 0
  private var keyIndex = 0
  /// The ID of the last row.
  private var last: String?

  init(service: DatabaseService, request: AllDocumentsRequest) {
    self.service = service
    self.request = request
  }

  /// Returns the next rows.
  mutating func next(in snapshot: Snapshot) throws -> AnswerParts {
    var rows = AnswerParts()
    var batch = AnswerBatch()
    func add(_ row: AnswerParts) {
      batch.add(row)
      if rowCount > 0 { rows.append(",\n") }
      rows.append(row)
      rowCount += 1
    }
    if let keys = request.keys {
      while batch.begin() {
        let index = request.isDescending ? keys.count - 1 - keyIndex : keyIndex
        guard keys.indices.contains(index), rowCount < request.limit else {
          isEnded = true
          break
        }
        keyIndex += 1
        guard keyIndex > request.skip else { continue }
        add(try row(ofKey: keys[index], snapshot))
      }
      return rows
    }
    var ids = snapshot.ids(range, descending: request.isDescending)
    while batch.begin() {
      guard rowCount < request.limit, let id = try ids.next() else {
        isEnded = true
        break
      }
      // A range includes its end in descending order.
      if last.map({ $0.utf8.elementsEqual(id.utf8) }) ?? false { continue }
      last = id
      if request.excluded.map({ $0.utf8.elementsEqual(id.utf8) }) ?? false { continue }
      guard skipped >= request.skip else {
        skipped += 1
        continue
      }
      guard let row = try row(of: id, snapshot) else { continue }
      add(row)
    }
    return rows
  }

  /// The range of the IDs that were not read.
  private var range: IDRange {
    guard let last else { return request.range }
    if request.isDescending { return IDRange(from: request.end, through: last) }
    guard let end = request.end else { return IDRange(from: last) }
    return request.includesEnd
      ? IDRange(from: last, through: end) : IDRange(from: last, upTo: end)
  }

  private func row(ofKey key: String, _ snapshot: Snapshot) throws -> AnswerParts {
    if let row = try row(of: key, snapshot) { return row }
    guard let revision = try snapshot.revision(of: key) else {
      return AnswerParts("{\"key\":\(Value.string(key).json),\"error\":\"not_found\"}")
    }
    let text = Value.string(key).json
    let document = request.includesDocuments ? ",\"doc\":null" : ""
    return AnswerParts(
      "{\"id\":\(text),\"key\":\(text),\"value\":{\"rev\":\"\(revision)\",\"deleted\":true}"
        + document + "}")
  }

  /// The row of a document; nil if there is none or it is deleted.
  private func row(of id: String, _ snapshot: Snapshot) throws -> AnswerParts? {
    guard try snapshot.exists(id), let revision = try snapshot.revision(of: id) else { return nil }
    let text = Value.string(id).json
    var row = AnswerParts("{\"id\":\(text),\"key\":\(text),\"value\":{\"rev\":\"\(revision)\"}")
    if request.includesDocuments {
      let served = try snapshot.served(revision, of: id, request.options, service.limits)
      row.append(",\"doc\":")
      row.append(served)
    }
    row.append("}")
    return row
  }
}
