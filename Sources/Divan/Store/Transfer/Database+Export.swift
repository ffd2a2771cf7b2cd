import DivanLog
import Synchronization

extension Database {
  /// Writes the current version of the database to a new file, as JSON Lines.
  ///
  /// See ``Snapshot/exportJSONLines(to:options:progress:)-8y63a``. You can read and write during
  /// the export; later changes do not show.
  @discardableResult
  public func exportJSONLines(
    to path: String, options: JSONLines.ExportOptions = JSONLines.ExportOptions(),
    progress: ((JSONLines.Progress) throws -> Void)? = nil
  ) throws -> JSONLines.Progress {
    try snapshot().exportJSONLines(to: path, options: options, progress: progress)
  }

  /// Writes the current version of the database as JSON Lines without blocking the calling thread.
  ///
  /// See ``Snapshot/exportJSONLines(to:options:progress:)-8y63a``. A cancelled task gets
  /// ``DatabaseError/Code/cancelled``, and nothing is left behind.
  @discardableResult
  public func exportJSONLines(
    to path: String, options: JSONLines.ExportOptions = JSONLines.ExportOptions(),
    progress: (@Sendable (JSONLines.Progress) throws -> Void)? = nil
  ) async throws -> JSONLines.Progress {
    try await snapshot().exportJSONLines(to: path, options: options, progress: progress)
  }
}
