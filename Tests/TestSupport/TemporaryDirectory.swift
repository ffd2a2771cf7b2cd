import DivanLog
import Foundation

/// A directory for a test, removed with its contents when the last reference is released.
///
/// Public, because tests of guides are also compiled as the code of another package.
public final class TemporaryDirectory: Sendable {
  /// The directory's path, without symbolic links.
  public let path: String

  /// Creates the directory.
  public init() throws {
    let url = FileManager.default.temporaryDirectory
      .appendingPathComponent("divan-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = try POSIXFileSystem().canonicalPath(url.path)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// Creates a symbolic link, which Divan itself never does.
package func makeSymbolicLink(at path: String, to target: String) throws {
  try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
}
