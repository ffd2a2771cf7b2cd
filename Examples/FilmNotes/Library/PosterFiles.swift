import Divan
import Foundation

/// Stores the files of posters as attachments, without blocking the main actor.
enum PosterFiles {
  /// Stores the content of a file, a piece at a time, before a document refers to it.
  static func store(_ path: String, in database: Database) async throws -> Document.Attachment {
    try await database.storeAttachment(contentType: contentType(of: path), file: path)
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
