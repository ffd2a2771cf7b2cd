public import Divan
import DivanLog
import Synchronization

extension SimulatedDisk {
  /// A configuration whose databases are on this disk and do the same in every run.
  ///
  /// ```swift
  /// let disk = SimulatedDisk(seed: 7)
  /// let database = try Database(at: "/notes.divan", configuration: disk.configuration())
  /// ```
  ///
  /// The time comes from ``clock``; the IDs of new documents, and whatever else a store draws at random,
  /// follow from the disk's seed. Checkpoints and cleaning run within the commit that makes them due,
  /// and what `Durability.relaxed(maxDelay:)` leaves for later is flushed only when something else
  /// flushes it: no time passes here that would do it. To count IDs instead, set
  /// `Configuration.documentIDs` of what is returned.
  ///
  /// - Parameters:
  ///   - base: what is kept: durability, way of reading, limits, whether the store is only read.
  ///   - hasSmallFiles: whether files are so small that a few dozen documents already make a store do
  ///     all that large ones do: begin new files, write checkpoints, clean, keep rows of views. Otherwise
  ///     they are as large as a program's.
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
      configuration.mergedSizeLimit = 32 << 10
      configuration.checkpointInterval = 4 << 10
      configuration.unwitnessedLimit = 2 << 10
      configuration.reserveSize = 4096
      configuration.viewSavingMinimum = 10
    }
    return configuration
  }
}
