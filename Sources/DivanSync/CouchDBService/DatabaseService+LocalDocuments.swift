import Divan
import DivanLog
import Foundation

extension DatabaseService {
  /// Answers a request for a local document, where replicators keep their logs.
  ///
  /// A user who may only read has to keep the log of a pull, too. Local documents are not
  /// replicated, and each user has its own: a user cannot change how far others have come.
  func localDocument(_ id: String, _ call: ServiceCall) async throws -> HTTPResponse {
    guard !id.isEmpty else { throw Self.illegalID }
    let key = LocalDocument.key(id, access.user)
    switch call.method {
    case "GET", "HEAD":
      guard let stored = try await database.read({ try $0.localDocument(key) }) else {
        throw ServiceError.missing
      }
      let document = LocalDocument(stored)
      var members = document.properties
      members["_id"] = .string("_local/" + id)
      members["_rev"] = .string("0-\(document.revision)")
      return .json(200, .object(members), headers: ["etag": "\"0-\(document.revision)\""])
    case "PUT":
      let data = try await call.data(sizeLimit: limits.localDocumentSize)
      guard let members = try ServiceCall.json(data).objectValue else {
        throw ServiceError.badRequest("Document must be a JSON object")
      }
      let document = try LocalDocument(members: members)
      let replaced = try await replaced(by: key)
      try await database.write { transaction in
        for key in replaced { try transaction.removeLocal(key) }
        try transaction.putLocal(key, document.stored)
      }
      return answer(id, document.revision, status: 201)
    case "DELETE":
      guard try await database.write({ try $0.removeLocal(key) }) else {
        throw ServiceError.missing
      }
      return answer(id, 0, status: 200)
    default:
      try call.allow("DELETE", "GET", "HEAD", "PUT")
      throw Self.notAnswered
    }
  }

  /// Returns the local documents of a user that make place for a new one: those written least
  /// recently, if there are too many.
  ///
  /// Replicators make one for each pair of stores, and remove none. Without its log, a replication
  /// compares all changes again, and transfers nothing twice.
  private func replaced(by key: String) async throws -> [String] {
    let (user, limit) = (access.user, limits.localDocumentCount)
    return try await database.read { snapshot in
      guard try snapshot.localDocument(key) == nil else { return [] }
      let keys = try snapshot.localDocumentIDs(.prefix(LocalDocument.keyPrefix(user)))
      guard keys.count >= limit else { return [] }
      var times: [(time: Int, key: String)] = []
      for key in keys {
        guard let stored = try snapshot.localDocument(key) else { continue }
        times.append((LocalDocument(stored).time, key))
      }
      times.sort { $0 < $1 }
      return times.prefix(keys.count - limit + 1).map(\.key)
    }
  }

  private func answer(_ id: String, _ revision: Int, status: Int) -> HTTPResponse {
    let id = "_local/" + id
    return .json(
      status, ["ok": true, "id": .string(id), "rev": .string("0-\(revision)")],
      headers: status == 201 ? ["location": location(id)] : [:])
  }
}

/// A local document of a client, as the store has it.
private struct LocalDocument: Sendable {
  /// A number that counts the changes, as far as clients name it; CouchDB does not enforce it.
  var revision: Int
  var properties: Value.Object
  /// When the document was written, in milliseconds from 1970; 0 if it is not known.
  var time: Int

  /// The ID in the store: those of the program itself are others, and so are those of other users.
  ///
  /// An ID of any length fits, because a long one is replaced by its digest.
  static func key(_ id: String, _ user: String?) -> String {
    keyPrefix(user) + (id.utf8.count <= 128 ? id : digest(id))
  }

  /// What the IDs of a user's local documents begin with in the store.
  static func keyPrefix(_ user: String?) -> String {
    let owner = user.map { digest($0).prefix(16) } ?? "all"
    return "couchdb/\(owner)/"
  }

  private static func digest(_ text: String) -> String {
    let bytes = Array(text.utf8)
    return SHA256.digest(of: bytes.span).bytes.map { byte in
      let digits = String(byte, radix: 16)
      return digits.utf8.count == 1 ? "0" + digits : digits
    }.joined()
  }

  init(_ stored: Value.Object) {
    revision = stored["revision"]?.intValue ?? 1
    properties = stored["properties"]?.objectValue ?? [:]
    time = stored["time"]?.intValue ?? 0
  }

  /// Reads what a client sends, as the revision after the one that it names.
  init(members: Value.Object) throws {
    let named = members["_rev"]?.stringValue?.split(separator: "-")
    let previous = named.flatMap { $0.count == 2 && $0[0] == "0" ? Int($0[1]) : nil } ?? 0
    revision = previous < 0 || previous == .max ? 1 : previous + 1
    properties = members
    time = Int(Date().timeIntervalSince1970 * 1000)
    // CouchDB's replicator sends `_revisions` with the log of each session but the first.
    for name in CouchDBDocument.reserved { properties[name] = nil }
    for name in properties.keys where name.utf8.first == UInt8(ascii: "_") {
      throw ServiceError(400, "doc_validation", "Bad special document member: \(name)")
    }
  }

  var stored: Value.Object {
    [
      "revision": .int(Int64(revision)), "properties": .object(properties),
      "time": .int(Int64(time)),
    ]
  }
}
