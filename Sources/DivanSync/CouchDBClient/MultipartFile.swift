import Divan
import Foundation

/// A file with the body of a request that has a document and attachments.
///
/// It is in the directory for temporary files, and the process removes it after the request. A
/// process that was killed leaves it, and a later one removes it.
enum MultipartFile {
  private static let prefix = "divan-upload-"
  /// After this many seconds without a change, no request sends a file any more.
  private static let longestUse = 86_400.0

  private static let directory = FileManager.default.temporaryDirectory
  private static let hasRemovedLeftovers: Bool = {
    removeLeftovers()
    return true
  }()

  /// Returns a new name, and removes what other processes left the first time.
  static func newURL() -> URL {
    _ = hasRemovedLeftovers
    return directory.appending(path: prefix + UUID().uuidString)
  }

  /// Removes files of processes that were killed.
  static func removeLeftovers() {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    for name in names where name.hasPrefix(prefix) {
      let path = directory.appending(path: name).path
      let attributes = try? FileManager.default.attributesOfItem(atPath: path)
      guard let date = attributes?[.modificationDate] as? Date,
        -date.timeIntervalSinceNow > longestUse
      else { continue }
      try? FileManager.default.removeItem(atPath: path)
    }
  }

  /// Writes `multipart/related`: the JSON, and the attachments in the order of their names.
  static func write(
    _ json: String, _ attachments: [ReplicatedAttachment], boundary: String, to file: URL
  ) async throws {
    guard
      FileManager.default.createFile(
        atPath: file.path, contents: nil, attributes: [.posixPermissions: 0o600])
    else {
      throw ReplicationError(.busy, "a temporary file cannot be made at \(file.path)")
    }
    let handle = try FileHandle(forWritingTo: file)
    defer { try? handle.close() }
    func write(_ text: String) throws { try handle.write(contentsOf: Data(text.utf8)) }
    try write("--\(boundary)\r\nContent-Type: application/json\r\n\r\n\(json)")
    for attachment in attachments {
      let name = CouchDBConnection.encoded(attachment.name)
      try write(
        """
        \r\n--\(boundary)\r
        Content-Disposition: attachment; filename="\(name)"\r
        Content-Length: \(attachment.length)\r\n\r\n
        """)
      switch attachment.content {
      case .stored(let stored):
        for try await piece in stored.asyncPieces() { try handle.write(contentsOf: piece) }
      case .sent(let open):
        var pieces = try await open().makeAsyncIterator()
        while let piece = try await pieces.next(isolation: nil) {
          try handle.write(contentsOf: piece)
        }
      case .known:
        throw ReplicationError(.refused, "an attachment has no content to send")
      }
    }
    try write("\r\n--\(boundary)--")
  }
}
