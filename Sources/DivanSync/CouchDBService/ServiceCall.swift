import Divan
import Foundation

/// A request with its path and query decoded.
struct ServiceCall: Sendable {
  let method: String
  /// The parts of the path, decoded.
  let path: [String]
  let query: [String: String]
  let headers: [String: String]
  let body: HTTPBody
  let limits: CouchDBService.Limits
  /// The memory that the body takes, until the request ends.
  let memory: MemoryReservation
  /// The memory that the parts of the answer take that are being sent.
  let answerMemory: MemoryReservation
  /// Counts the request as soon as its user is known.
  let slot = Slot()
  /// Counts a document that takes more memory than a client may have, until it is stored.
  private let largeSlot = Slot()
  private let largeDocuments: Counter<ServiceClient>
  /// Where the request comes from; nil if the server does not say so.
  let address: ClientAddress?

  init(
    _ request: HTTPRequest, _ body: HTTPBody, from address: String?, _ service: CouchDBService
  ) throws {
    limits = service.configuration.limits
    self.address = ClientAddress(address)
    memory = MemoryReservation(service.state.memory, of: "requests")
    answerMemory = MemoryReservation(service.state.answerMemory, of: "answers")
    largeDocuments = service.state.largeDocuments
    method = request.method
    self.body = body
    var lowercase: [String: String] = [:]
    var size = 0
    for (name, value) in request.headers {
      size += name.utf8.count + value.utf8.count
      lowercase[name.lowercased()] = value
    }
    headers = lowercase
    guard size <= limits.headerSize else {
      throw ServiceError(431, "headers_too_large", "The headers are too large.")
    }
    let text = request.url.absoluteString
    guard text.utf8.count <= limits.urlSize else {
      throw ServiceError(414, "uri_too_long", "The URI is too long.")
    }
    let target = Self.target(of: text[...])
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    // Parts are separated before they are decoded, since an ID may contain a slash.
    var path = (parts.first ?? "").split(separator: "/", omittingEmptySubsequences: false)
      .dropFirst()
    if path.last?.isEmpty ?? false { path.removeLast() }
    self.path = try path.map { try Self.decoded($0) }
    var query: [String: String] = [:]
    for item in parts.dropFirst().first?.split(separator: "&") ?? [] {
      let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = try pair.dropFirst().first.map { try Self.decoded($0) }
      query[try Self.decoded(pair[0])] = value ?? ""
    }
    self.query = query
  }

  /// The part of an absolute URL after the host, without the fragment.
  private static func target(of url: Substring) -> Substring {
    var rest = url
    if let start = rest.range(of: "://")?.upperBound { rest = rest[start...] }
    let target = rest.drop { $0 != "/" && $0 != "?" && $0 != "#" }
    return target.prefix { $0 != "#" }
  }

  /// Decodes `%41`, and `+` as a space, as CouchDB does in paths and queries.
  static func decoded(_ text: Substring) throws -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var iterator = text.utf8.makeIterator()
    while let byte = iterator.next() {
      switch byte {
      case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard let high = iterator.next().flatMap(hexadecimalValue),
          let low = iterator.next().flatMap(hexadecimalValue)
        else {
          throw ServiceError.badRequest("A % in the URL is not followed by two digits.")
        }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    guard let result = String(validating: bytes, as: UTF8.self) else {
      throw ServiceError.badRequest("The URL is not UTF-8.")
    }
    return result
  }

  private static func hexadecimalValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x41...0x46: digit - 0x41 + 10
    case 0x61...0x66: digit - 0x61 + 10
    default: nil
    }
  }
}

// MARK: Reading the request

extension ServiceCall {
  /// The JSON of the body, which may have documents that are stored; null if there is none.
  func json(hasDocuments: Bool = false) async throws -> Value {
    let data = try await data(sizeLimit: limits.bodySize)
    guard !data.isEmpty else { return .null }
    try takeMemory(forValuesOf: data, hasDocuments: hasDocuments)
    return try Self.json(data)
  }

  /// Takes the memory for the values of some JSON.
  ///
  /// A document may have so many values that they take more than the share of a client. Such
  /// documents are stored one at a time.
  func takeMemory(forValuesOf json: Data, hasDocuments: Bool) throws {
    let size = BodyJSON.valueSize(json)
    guard hasDocuments, !memory.canHave(size), size <= Self.documentMemory(limits) else {
      return try memory.add(size)
    }
    try largeSlot.take(largeDocuments, nil, "large documents")
  }

  /// The memory that the values of one document take at most.
  ///
  /// Each value but the first has a character and a comma, or two brackets; the names of
  /// attachments do not count for the size of their document.
  private static func documentMemory(_ limits: CouchDBService.Limits) -> Int {
    let size = min(limits.documentSize, DocumentLimits.sizeInBytes)
    let count = size / 2 + 8 * min(limits.attachmentCount, 1 << 20) + 8
    return BodyJSON.memoryOfValue * count
  }

  /// The JSON of the body, which must be an object.
  func jsonObject(hasDocuments: Bool = false) async throws -> Value.Object {
    let reason = "Request body must be a JSON object"
    guard let object = try await json(hasDocuments: hasDocuments).objectValue else {
      throw ServiceError.badRequest(reason)
    }
    return object
  }

  static func json(_ data: Data) throws -> Value {
    do {
      return try BodyJSON.value(of: data)
    } catch {
      throw ServiceError.badRequest("invalid UTF-8 JSON")
    }
  }

  /// The whole body, within the memory for all bodies.
  func data(sizeLimit: Int) async throws -> Data {
    if let length = headers["content-length"].flatMap({ Int($0) }), length > sizeLimit {
      throw HTTPBodyTooLarge()
    }
    var data = Data()
    for try await piece in body {
      guard data.count + piece.count <= sizeLimit else { throw HTTPBodyTooLarge() }
      try memory.add(piece.count)
      data.append(piece)
    }
    return data
  }

  /// Whether a parameter of the query is true.
  func isOn(_ name: String) throws -> Bool {
    switch query[name] {
    case nil, "false": false
    case "true": true
    case let text?: throw Self.invalid(name, text)
    }
  }

  /// A parameter that is a number which is not negative.
  func number(_ name: String) throws -> Int? {
    guard let text = query[name] else { return nil }
    guard let number = Int(text), number >= 0 else { throw Self.invalid(name, text) }
    return number
  }

  /// A parameter that is JSON.
  func value(_ names: String...) throws -> Value? {
    for name in names {
      guard let text = query[name] else { continue }
      guard let value = try? Value(json: text) else { throw Self.invalid(name, text) }
      return value
    }
    return nil
  }

  /// A parameter that is a list of revisions; nil if there is none.
  func revisions(_ name: String) throws -> [RevisionID]? {
    guard let value = try value(name) else { return nil }
    guard let list = value.arrayValue else { throw Self.invalid(name, value.json) }
    return try list.map { try Self.revision($0.stringValue) }
  }

  static func invalid(_ name: String, _ text: String) -> ServiceError {
    .badRequest("Invalid value for \(name): \(String(text.prefix(100)))")
  }

  static func revision(_ text: String?) throws -> RevisionID {
    guard let revision = text.flatMap({ RevisionID($0) }) else {
      throw ServiceError.badRequest("Invalid rev format")
    }
    return revision
  }

  /// The revision in the query or in `If-Match`, which must agree.
  func givenRevision() throws -> RevisionID? {
    let queried = try query["rev"].flatMap { try $0.isEmpty ? nil : Self.revision($0) }
    let matched = try headers["if-match"].map {
      try Self.revision($0.trimmingCharacters(in: CharacterSet(charactersIn: "\" ")))
    }
    if let queried, let matched, queried != matched {
      throw ServiceError.badRequest("Document rev and etag have different values")
    }
    return queried ?? matched
  }

  /// Whether the client asks for a type by its name.
  func accepts(_ type: String) -> Bool {
    (headers["accept"] ?? "").split(separator: ",").contains { entry in
      entry.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased() == type
    }
  }

  /// Whether the client has what an entity tag names.
  func hasCurrent(_ tag: String) -> Bool {
    (headers["if-none-match"] ?? "").split(separator: ",").contains { entry in
      let text = entry.trimmingCharacters(in: .whitespaces)
      return text == tag || text == "W/" + tag || text == "*"
    }
  }

  /// Refuses other methods.
  func allow(_ methods: String...) throws {
    guard !methods.contains(method) else { return }
    let list = methods.sorted().joined(separator: ",")
    throw ServiceError(
      405, "method_not_allowed", "Only \(list) allowed", headers: ["allow": list])
  }

  /// Refuses bodies that say that they are no JSON.
  func requireJSON() throws {
    guard let type = headers["content-type"] else { return }
    let name = type.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
    guard name == "application/json" else {
      throw ServiceError(415, "bad_content_type", "Content-Type must be application/json")
    }
  }
}
