package import DivanTesting

extension SimulatedFileSystem {
  /// Returns the names in a directory; none if it does not exist.
  package func names(in path: String) -> [String] { (try? list(path)) ?? [] }
}
