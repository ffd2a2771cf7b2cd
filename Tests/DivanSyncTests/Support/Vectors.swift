import Foundation

/// Facts that were recorded from CouchDB, beside the project.
enum Vectors {
  /// Returns a file; nil if the variable `DIVAN_VECTORS` does not say where they are.
  static func read(_ name: String) throws -> Data? {
    guard let directory = ProcessInfo.processInfo.environment["DIVAN_VECTORS"] else {
      print("DIVAN_VECTORS is not set: \(name) was not read")
      return nil
    }
    return try Data(contentsOf: URL(fileURLWithPath: directory).appending(path: name))
  }
}
