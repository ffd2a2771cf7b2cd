import Divan
import Foundation

/// Copies posters between files and the store, a piece at a time, without blocking the main actor.
///
/// Neither direction takes memory for the whole file.
enum PosterFiles {
  /// Stores the content of a file, before a document refers to it.
  @concurrent static func store(
    _ path: String, in database: Database
  ) async throws -> Document.Attachment {
    try database.storeAttachment(contentType: contentType(of: path), file: path)
  }

  /// Writes a poster to a new file.
  ///
  /// Each piece is verified before it is written.
  @concurrent static func write(_ poster: Document.Attachment, to path: String) async throws {
    guard !FileManager.default.fileExists(atPath: path) else {
      throw DatabaseError(
        .alreadyExists, "there is a file with this name", hint: "Choose another name", path: path)
    }
    var pieces = try poster.pieces()
    try Data().write(to: URL(filePath: path), options: .withoutOverwriting)
    let file = try FileHandle(forWritingTo: URL(filePath: path))
    while let piece = try pieces.next() { try file.write(contentsOf: piece) }
    try file.close()
  }

  private static func contentType(of path: String) -> String {
    switch URL(filePath: path).pathExtension.lowercased() {
    case "jpg", "jpeg": "image/jpeg"
    case "png": "image/png"
    case "webp": "image/webp"
    default: "application/octet-stream"
    }
  }
}
