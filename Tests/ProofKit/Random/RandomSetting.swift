import Divan
import DivanLog
import DivanTesting
import Synchronization

/// The configuration of a random run's store: small sizes that differ from run to run.
struct RandomSetting: Sendable {
  var segmentSize: Int
  var mergedSize: Int
  var checkpointInterval: Int
  var nodeSize: Int
  var sequenceReserve: UInt64
  var reserveSize: Int
  var isMapped: Bool
  var isInline: Bool
  /// Whether documents have more than properties.
  let isRich: Bool
  /// Whether the store is encrypted, with a cipher for tests.
  var isEncrypted = false
  /// How much of the replaced revisions the store keeps.
  var history = HistoryRetention.disabled
  /// The number of revisions of each branch that it knows by their IDs.
  let revisionDepth: Int

  init(_ random: inout SeededGenerator, isRich: Bool) {
    self.isRich = isRich
    // From a separate generator, so that the operations of a seed do not change.
    var same = random
    var ownRandom = SeededGenerator(seed: ~same.next())
    // With only one, no revision could be made from one that has a successor.
    revisionDepth = [20, 20, 2, 3, 4, 7, isRich ? 5 : 1].randomElement(using: &ownRandom) ?? 20
    segmentSize = [1 << 10, 4 << 10, 16 << 10].randomElement(using: &random) ?? 4096
    mergedSize = segmentSize * Int.random(in: 1...6, using: &random)
    checkpointInterval = [1 << 10, 6 << 10, 30 << 10].randomElement(using: &random) ?? 4096
    // The keys of an index have at most 210 bytes plus an ID, for which nodes of 1,024 bytes hardly
    // have room.
    nodeSize = [1280, 2048, 4096].randomElement(using: &random) ?? 4096
    sequenceReserve = [1, 3, 40, 1000].randomElement(using: &random) ?? 40
    reserveSize = [0, 512, 4096].randomElement(using: &random) ?? 0
    isMapped = Bool.random(using: &random)
    isInline = Bool.random(using: &random)
    guard isRich else { return }
    history =
      [.disabled, .disabled, .unlimited, HistoryRetention(revisions: 2)].randomElement(
        using: &random)
      ?? .disabled
  }

  /// The cipher of the store; nil if it is not encrypted.
  var cipher: TestCipher? { isEncrypted ? TestCipher(secret: 2) : nil }

  /// Returns the configuration; salts differ between openings, and are the same in every run.
  func configuration(
    _ disk: SimulatedFileSystem, life: Int, _ clock: ProofClock
  ) -> Configuration {
    var configuration = Configuration.crashing(on: disk, life: life)
    configuration.segmentSizeGoal = segmentSize
    configuration.compactedSegmentSizeLimit = mergedSize
    configuration.checkpointInterval = checkpointInterval
    configuration.nodeSize = nodeSize
    configuration.sequenceReserve = sequenceReserve
    configuration.reserveSize = reserveSize
    configuration.readMode = isMapped ? .mapped : .buffered
    configuration.maintenance = isInline ? .inline : .manual
    configuration.history = history
    configuration.revisionDepth = revisionDepth
    configuration.now = { clock.now }
    configuration.cipher = cipher
    return configuration
  }
}

extension RandomSetting: CustomStringConvertible {
  var description: String {
    "segments of \(segmentSize), merged up to \(mergedSize), a checkpoint every "
      + "\(checkpointInterval), nodes of \(nodeSize), \(sequenceReserve) numbers reserved, "
      + "reserve \(reserveSize), \(isMapped ? "mapped" : "buffered"), "
      + "maintenance \(isInline ? "inline" : "manual"), revisions to a depth of \(revisionDepth)"
      + (isRich ? ", documents with everything, history \(history)" : "")
      + (isEncrypted ? ", encrypted" : "")
  }
}
