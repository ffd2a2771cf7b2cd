import Divan
import Foundation

extension DatabaseService {
  /// Reads a document that is followed by its attachments, whose content is stored as it arrives.
  func multipartDocument(
    _ id: String, _ type: String, _ call: ServiceCall
  ) async throws -> IncomingDocument {
    guard let boundary = Self.boundary(of: type) else {
      throw ServiceError.badRequest("The boundary is missing")
    }
    let reader = MultipartReader(call.body, boundary: boundary)
    do {
      guard try await reader.nextPart() != nil else {
        throw ServiceError.badRequest("There is no document")
      }
      var data = Data()
      while let piece = try await reader.nextPiece() {
        guard data.count + piece.count <= limits.bodySize else { throw HTTPBodyTooLarge() }
        try call.memory.add(piece.count)
        data.append(piece)
      }
      try call.takeMemory(forValuesOf: data, hasDocuments: true)
      let value = try ServiceCall.json(data)
      var document = try IncomingDocument(value, id: id, limits)
      document.sent = try await storeAttachments(of: document, data, from: reader)
      return document
    } catch let error as ReplicationError where error.code == .invalidAnswer {
      throw ServiceError.badRequest(error.message)
    }
  }

  private static func boundary(of type: String) -> String? {
    guard let start = type.range(of: "boundary=")?.upperBound else { return nil }
    let text = type[start...].prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
    let boundary = text.trimmingCharacters(in: CharacterSet(charactersIn: "\""))
    return boundary.isEmpty || boundary.utf8.count > 200 ? nil : boundary
  }

  /// Stores the content of the attachments that follow, by their names.
  private func storeAttachments(
    of document: IncomingDocument, _ json: Data, from reader: MultipartReader
  ) async throws -> Document.Attachments {
    let entries = document.members["_attachments"]?.objectValue ?? [:]
    // The parts have the order of the JSON.
    var expected = MemberNames.list(of: "_attachments", in: json).filter {
      entries[$0]?["follows"] == true
    }
    var sent = Document.Attachments()
    while !expected.isEmpty, let headers = try await reader.nextPart() {
      let index = try Self.index(of: headers, among: expected, entries)
      let name = expected.remove(at: index)
      let entry = entries[name] ?? [:]
      guard let length = entry["length"]?.intValue, length >= 0 else {
        throw ServiceError.badRequest("The length of an attachment is missing: \(name)")
      }
      guard length <= limits.attachmentSize else {
        throw ServiceError(413, "attachment_too_large", name)
      }
      let type = entry["content_type"]?.stringValue ?? "application/octet-stream"
      sent[name] = try await database.storeAttachment(
        contentType: type,
        pieces: PartPieces(try content(of: reader, headers, entry), length: length))
      if entry["encoding"] == nil, let digest = entry["digest"]?.stringValue,
        let check = ContentCheck(.init(digest)), let stored = sent[name],
        !(try await stored.passes(check))
      {
        throw ServiceError.badRequest("An attachment does not have its digest: \(name)")
      }
    }
    guard expected.isEmpty else {
      throw ServiceError.badRequest("attachment shorter than expected")
    }
    return sent
  }

  /// Returns a function that returns the content of a part, decompressed.
  ///
  /// Older servers with CouchDB send parts without headers. The document then says how its
  /// attachment is encoded.
  private func content(
    of reader: MultipartReader, _ headers: [String: String], _ entry: Value
  ) throws -> () async throws -> Data? {
    let encoding = headers["content-encoding"] ?? entry["encoding"]?.stringValue
    switch encoding?.lowercased() {
    case nil, "identity": return { try await reader.nextPiece() }
    case "gzip":
      return Self.decompressing { try await reader.nextPiece() }
    case let encoding?:
      throw ServiceError(
        415, "bad_content_type", "The encoding of an attachment is not known: \(encoding)")
    }
  }

  /// Returns which attachment a part is: the one that it names, or the next one.
  ///
  /// Some clients encode the name as in a URL, so one name can be the spelling of another. Of
  /// several that it can be, it is the next one if its length is right: the parts have the order of
  /// the JSON.
  private static func index(
    of headers: [String: String], among names: [String], _ entries: Value.Object
  ) throws -> Int {
    let disposition = headers["content-disposition"] ?? ""
    guard let start = disposition.range(of: "filename=\"")?.upperBound else { return 0 }
    let text = String(disposition[start...].prefix { $0 != "\"" })
    let decoded = text.removingPercentEncoding ?? text
    let candidates = names.indices.filter { index in
      names[index].utf8.elementsEqual(text.utf8) || names[index].utf8.elementsEqual(decoded.utf8)
    }
    guard let first = candidates.first else {
      throw ServiceError.badRequest("A part is no attachment of the document")
    }
    guard candidates.count > 1, headers["content-encoding"] == nil,
      let length = headers["content-length"].flatMap({ Int($0) })
    else { return first }
    return candidates.first { entries[names[$0]]?["length"]?.intValue == length } ?? first
  }
}

/// The content of a part of a multipart body, which must have the announced length.
private struct PartPieces: AsyncSequence {
  let base: () async throws -> Data?
  let length: Int

  init(_ base: @escaping () async throws -> Data?, length: Int) {
    self.base = base
    self.length = length
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    let base: () async throws -> Data?
    var rest: Int

    mutating func next() async throws -> Data? {
      let piece = try await base()
      rest -= piece?.count ?? 0
      guard rest >= 0 else {
        throw ServiceError.badRequest("attachment longer than expected")
      }
      guard piece != nil || rest == 0 else {
        throw ServiceError.badRequest("attachment shorter than expected")
      }
      return piece
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base, rest: length) }
}
