import Divan
import Foundation

/// Answers the requests for one database.
struct DatabaseService: Sendable {
  let name: String
  let database: Database
  let peer: DatabasePeer
  let limits: CouchDBService.Limits
  let access: Access
  let state: ServiceState
  let report: ServiceReport

  /// What the user of a request may do.
  struct Access: Sendable {
    let permission: CouchDBService.Permission
    let user: String?

    init(_ permission: CouchDBService.Permission, _ user: String?) {
      self.permission = permission
      self.user = user
    }
  }

  init(
    name: String, _ database: Database, limits: CouchDBService.Limits, access: Access,
    state: ServiceState, report: ServiceReport
  ) {
    self.name = name
    self.database = database
    self.limits = limits
    self.access = access
    self.state = state
    self.report = report
    peer = DatabasePeer(database)
  }

  /// Requests of CouchDB that this service does not answer.
  private static let otherRequests: Set<String> = [
    "_all_docs_queries", "_auto_purge", "_compact", "_dbs_info", "_design_docs", "_explain",
    "_find", "_index", "_partition", "_purge", "_purged_infos_limit", "_revs_limit", "_security",
    "_shards", "_sync_shards", "_temp_view", "_view_cleanup",
  ]

  func respond(to call: ServiceCall) async throws -> HTTPResponse {
    let path = Array(call.path.dropFirst())
    guard let first = path.first else { return try await root(call) }
    guard first.utf8.first == UInt8(ascii: "_") else {
      return try await document(first, attachment: path.dropFirst(), call)
    }
    switch (first, path.count) {
    case ("_local", 2...):
      return try await localDocument(path.dropFirst().joined(separator: "/"), call)
    case ("_design", 2...) where !(path.count > 2 && path[2].hasPrefix("_")):
      return try await document("_design/" + path[1], attachment: path.dropFirst(2), call)
    case (_, _) where first.hasPrefix("_design/") && !(path.count > 1 && path[1].hasPrefix("_")):
      return try await document(first, attachment: path.dropFirst(), call)
    case (_, 1) where first.hasPrefix("_local/"):
      return try await localDocument(String(first.dropFirst(7)), call)
    case (_, 1): return try await namedRequest(first, call)
    case ("_design", _): throw Self.notAnswered
    case (_, _) where Self.otherRequests.contains(first): throw Self.notAnswered
    default: throw Self.illegalID
    }
  }

  static let notAnswered = ServiceError(
    501, "not_implemented", "This service does not answer such requests.")

  static let illegalID = ServiceError(
    400, "illegal_docid", "Only reserved document ids may start with underscore.")

  private func namedRequest(_ request: String, _ call: ServiceCall) async throws -> HTTPResponse {
    switch request {
    case "_changes":
      try call.allow("GET", "HEAD", "POST")
      return try await changes(call)
    case "_all_docs":
      try call.allow("GET", "HEAD", "POST")
      return try await allDocuments(call)
    case "_local_docs" where call.method == "GET": throw Self.notAnswered
    case "_revs_diff", "_missing_revs":
      try call.allow("POST")
      try call.requireJSON()
      return try await missingRevisions(call, isOldForm: request == "_missing_revs")
    case "_bulk_get":
      try call.allow("POST")
      try call.requireJSON()
      return try await bulkGet(call)
    case "_bulk_docs":
      try call.allow("POST")
      try call.requireJSON()
      try requireWriting()
      return try await bulkInsert(call)
    case "_ensure_full_commit":
      try call.allow("POST")
      try await peer.flush()
      return .json(201, ["ok": true, "instance_start_time": "0"])
    case let name where Self.otherRequests.contains(name): throw Self.notAnswered
    default: throw Self.illegalID
    }
  }

  /// Refuses changes of a user who may only read.
  func requireWriting() throws {
    guard access.permission >= .write else {
      throw ServiceError(403, "forbidden", "You are not allowed to write to this db.")
    }
  }

  private func root(_ call: ServiceCall) async throws -> HTTPResponse {
    switch call.method {
    case "GET", "HEAD": return try await information()
    case "POST":
      try call.requireJSON()
      try requireWriting()
      return try await create(call)
    case "PUT":
      throw ServiceError(
        412, "file_exists", "The database could not be created, the file already exists.")
    case "DELETE":
      throw ServiceError(403, "forbidden", "Databases are not deleted over HTTP here.")
    default:
      try call.allow("DELETE", "GET", "HEAD", "POST")
      throw Self.notAnswered
    }
  }

  private func information() async throws -> HTTPResponse {
    let (sequence, count, changeCount) = try await database.read {
      ($0.sequence, try $0.count, try $0.changeCount())
    }
    return .json(
      200,
      [
        "db_name": .string(name), "doc_count": .int(Int64(count)),
        "doc_del_count": .int(Int64(max(0, changeCount - count))),
        "update_seq": .string(position(sequence)), "purge_seq": "0", "instance_start_time": "0",
        "compact_running": false,
      ])
  }

  /// The text of a position in the changes.
  func position(_ sequence: UInt64) -> String { "\(sequence)-\(database.storeID)" }
}
