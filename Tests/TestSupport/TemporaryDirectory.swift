import DivanLog
import Foundation

/// A directory of its own for a test, removed with everything in it when the last reference goes.
package final class TemporaryDirectory: Sendable {
  /// Its path, without symbolic links.
  package let path: String

  package init() throws {
    let url = FileManager.default.temporaryDirectory
      .appendingPathComponent("divan-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = try POSIXFileSystem().canonicalPath(url.path)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// Makes a symbolic link, which Divan itself never does.
package func makeSymbolicLink(at path: String, to target: String) throws {
  try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
}
