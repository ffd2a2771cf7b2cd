#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Snapshot {
  /// Writes the documents to a new JSON Lines file, as `exportJSONLines(to:)` with a path does.
  ///
  /// - Returns: The amount that was written.
  /// - Throws: Also ``DatabaseError/Code/notFound`` if it is not a file URL.
  @discardableResult
  public func exportJSONLines(
    to url: URL, options: JSONLines.ExportOptions = JSONLines.ExportOptions(),
    progress: ((JSONLines.Progress) throws -> Void)? = nil
  ) throws -> JSONLines.Progress {
    try exportJSONLines(to: url.filePath(), options: options, progress: progress)
  }

  /// Writes the documents to a new JSON Lines file without blocking the calling thread.
  ///
  /// - Returns: The amount that was written.
  /// - Throws: Also ``DatabaseError/Code/notFound`` if it is not a file URL.
  @discardableResult
  public func exportJSONLines(
    to url: URL, options: JSONLines.ExportOptions = JSONLines.ExportOptions(),
    progress: (@Sendable (JSONLines.Progress) throws -> Void)? = nil
  ) async throws -> JSONLines.Progress {
    try await exportJSONLines(to: url.filePath(), options: options, progress: progress)
  }
}
