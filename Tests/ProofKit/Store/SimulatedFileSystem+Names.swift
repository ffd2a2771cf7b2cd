package import DivanTesting

extension SimulatedFileSystem {
  /// The names in a directory; none if it is not there.
  package func names(in path: String) -> [String] { (try? list(path)) ?? [] }
}
