public import Divan

extension SimulatedDisk {
  /// A configuration whose databases are on this disk.
  ///
  /// ```swift
  /// let disk = SimulatedDisk(seed: 7)
  /// let database = try Database(at: "/notes.divan", configuration: disk.configuration())
  /// ```
  ///
  /// - Parameter base: everything else that is to be configured.
  /// - Returns: `base`, on this disk.
  public func configuration(_ base: Configuration = Configuration()) -> Configuration {
    var configuration = base
    configuration.fileSystem = fileSystem
    return configuration
  }
}
