#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

// Each call here does what the call with a path does. A URL that is not that of a file throws
// `notFound`, except where `exists` returns false.

extension URL {
  /// Returns the path of a file URL.
  func filePath(orThrow code: DatabaseError.Code = .notFound) throws(DatabaseError) -> String {
    guard isFileURL else {
      throw DatabaseError(
        code, "the URL is not that of a file or directory on this machine",
        hint: "Use a URL that begins with `file:`")
    }
    return path(percentEncoded: false)
  }
}

extension Database {
  /// Copies the store to a new directory at a file URL, as `backup(to:)` with a path does.
  public func backup(
    to url: URL, keepingHistory: Bool = false, progress: ((Double) throws -> Void)? = nil
  ) throws {
    try backup(to: url.filePath(), keepingHistory: keepingHistory, progress: progress)
  }

  /// Copies the store to a new directory at a file URL, without blocking the calling thread.
  public func backup(
    to url: URL, keepingHistory: Bool = false,
    progress: (@Sendable (Double) throws -> Void)? = nil
  ) async throws {
    try await backup(to: url.filePath(), keepingHistory: keepingHistory, progress: progress)
  }

  /// Restores a store from a backup, both at file URLs, as `restore(from:to:)` with paths does.
  public static func restore(
    from backup: URL, to url: URL, configuration: Configuration = Configuration()
  ) throws {
    try restore(from: backup.filePath(), to: url.filePath(), configuration: configuration)
  }

  /// Restores a store from a backup, both at file URLs, without blocking the calling thread.
  public static func restore(
    from backup: URL, to url: URL, configuration: Configuration = Configuration()
  ) async throws {
    try await restore(from: backup.filePath(), to: url.filePath(), configuration: configuration)
  }

  /// Deletes the store at a file URL, as `delete(at:)` with a path does.
  ///
  /// - Returns: The paths of the files that remain, relative to the store's directory.
  @discardableResult
  public static func delete(
    at url: URL, configuration: Configuration = Configuration()
  ) throws -> [String] {
    try delete(at: url.filePath(), configuration: configuration)
  }

  /// Whether there is a store at a file URL; false for other URLs.
  public static func exists(at url: URL, configuration: Configuration = Configuration()) -> Bool {
    guard let path = try? url.filePath() else { return false }
    return exists(at: path, configuration: configuration)
  }
}

extension Database {
  /// Writes all documents to a new JSON Lines file, as `exportJSONLines(to:)` with a path does.
  ///
  /// - Returns: The final progress.
  @discardableResult
  public func exportJSONLines(
    to url: URL, options: JSONLines.ExportOptions = JSONLines.ExportOptions(),
    progress: ((JSONLines.Progress) throws -> Void)? = nil
  ) throws -> JSONLines.Progress {
    try exportJSONLines(to: url.filePath(), options: options, progress: progress)
  }

  /// Writes all documents to a new JSON Lines file without blocking the calling thread.
  ///
  /// - Returns: The final progress.
  @discardableResult
  public func exportJSONLines(
    to url: URL, options: JSONLines.ExportOptions = JSONLines.ExportOptions(),
    progress: (@Sendable (JSONLines.Progress) throws -> Void)? = nil
  ) async throws -> JSONLines.Progress {
    try await exportJSONLines(to: url.filePath(), options: options, progress: progress)
  }

  /// Stores the documents of a JSON Lines file, as `importJSONLines(from:)` with a path does.
  ///
  /// - Returns: A report of the import.
  @discardableResult
  public func importJSONLines(
    from url: URL, options: JSONLines.ImportOptions = JSONLines.ImportOptions(),
    progress: ((JSONLines.Progress) throws -> Void)? = nil
  ) throws -> ImportReport {
    try importJSONLines(from: url.filePath(), options: options, progress: progress)
  }

  /// Stores the documents of a JSON Lines file without blocking the calling thread.
  ///
  /// - Returns: A report of the import.
  @discardableResult
  public func importJSONLines(
    from url: URL, options: JSONLines.ImportOptions = JSONLines.ImportOptions(),
    progress: (@Sendable (JSONLines.Progress) throws -> Void)? = nil
  ) async throws -> ImportReport {
    try await importJSONLines(from: url.filePath(), options: options, progress: progress)
  }

  /// Stores the content of an attachment from a file before a document refers to it.
  ///
  /// - Returns: A value to assign to ``Document/attachments``.
  public func storeAttachment(contentType: String, file url: URL) throws -> Document.Attachment {
    try storeAttachment(contentType: contentType, file: url.filePath())
  }

  /// Stores the content of an attachment from a file, without blocking the calling thread.
  ///
  /// - Returns: A value to assign to ``Document/attachments``.
  public func storeAttachment(
    contentType: String, file url: URL
  ) async throws -> Document.Attachment {
    try await storeAttachment(contentType: contentType, file: url.filePath())
  }
}
