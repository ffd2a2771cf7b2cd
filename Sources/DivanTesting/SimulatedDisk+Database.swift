public import Divan
import DivanLog
import Synchronization

extension SimulatedDisk {
  /// Returns a configuration of databases on this disk that do the same in every run.
  ///
  /// ```swift
  /// let disk = SimulatedDisk(seed: 7)
  /// let database = try Database(at: "/notes.divan", configuration: disk.configuration())
  /// ```
  ///
  /// The time comes from ``clock``. The IDs of new documents, and all other random numbers of a
  /// store, follow from the disk's seed. Checkpoints and maintenance run within the commit that
  /// makes them due. Commits with `Durability.relaxed(maxDelay:)` are flushed only when something
  /// else flushes them, since no time passes here. To count IDs instead, set
  /// `Configuration.documentIDs` of the result.
  ///
  /// - Parameters:
  ///   - base: the settings to keep: durability, mode of reading, limits, whether the store is
  ///     read-only.
  ///   - hasSmallFiles: whether files are so small that a few dozen documents already make a store
  ///     do all that large ones do: begin segments, write checkpoints, compact, save rows of views.
  ///     Otherwise they are as large as a program's.
  /// - Returns: `base`, on this disk.
  public func configuration(
    _ base: Configuration = Configuration(), hasSmallFiles: Bool = true
  ) -> Configuration {
    var configuration = base
    configuration.fileSystem = fileSystem
    configuration.maintenance = .inline
    configuration.now = clock.read
    configuration.random = { self.random.withLock { max(1, $0.next()) } }
    configuration.documentIDs = .timeOrdered(
      millisecondsSince1970: clock.read, random: { self.random.withLock { $0.next() } })
    if hasSmallFiles {
      configuration.segmentSizeGoal = 8 << 10
      configuration.compactedSegmentSizeLimit = 32 << 10
      configuration.checkpointInterval = 4 << 10
      configuration.unwitnessedLimit = 2 << 10
      configuration.reserveSize = 4096
      configuration.viewSavingMinimum = 10
    }
    return configuration
  }
}
