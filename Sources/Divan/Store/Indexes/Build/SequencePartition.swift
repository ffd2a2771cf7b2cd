import DivanLog

/// A part of the order of changes: the documents after one sequence number through another.
struct SequencePartition: Sendable {
  /// The sequence number after which the partition begins.
  let start: UInt64
  /// The last sequence number.
  let end: UInt64

  /// The approximate number of documents in a partition when several readers run.
  ///
  /// It is so small that readers end at about the same time, and stop soon when they must.
  static let documentCount = 256
}

extension SequencePartition {
  /// Returns a scan of the partition in a version.
  func scan(_ view: ReadView) -> LayeredScan {
    view.state.sequences.scan(
      from: .exclusive(start.bigEndianBytes), to: .inclusive(end.bigEndianBytes))
  }

  /// Returns the sequence number in the key of an entry; nil if the key is malformed.
  static func sequence(_ item: TreeEntry) -> UInt64? {
    item.withKey { $0.count == 8 ? $0.word(at: 0).byteSwapped : nil }
  }
}

/// The order of changes, divided into partitions for concurrent readers.
///
/// Differences between sequence numbers do not show the number of documents: where documents change
/// often, few numbers remain. So the documents of a partition are counted by a scan.
struct SequencePartitioner {
  /// The part that was not handed out.
  private var rest: SequencePartition
  /// The approximate number of documents in a partition; nil for a single one and a single reader.
  private let documentCount: Int?
  private var view: ReadView
  private var scan: LayeredScan?

  /// Begins with all documents of a version.
  init(_ view: ReadView, documentCount: Int?) {
    rest = SequencePartition(start: 0, end: view.state.lastSequence)
    self.documentCount = documentCount
    self.view = view
  }
}

extension SequencePartitioner {
  /// Whether everything was handed out.
  var isAtEnd: Bool { rest.start >= rest.end }

  /// Continues in a later version.
  mutating func move(to view: ReadView) {
    self.view = view
    scan = nil
  }

  /// Hands out the next partition; nil if there is none.
  mutating func next() throws(DatabaseError) -> SequencePartition? {
    guard !isAtEnd else { return nil }
    let partition = SequencePartition(start: rest.start, end: try endOfPartition())
    rest = SequencePartition(start: partition.end, end: rest.end)
    return partition
  }

  /// Counts the documents of the next partition, leaf by leaf; returns its last sequence number.
  private mutating func endOfPartition() throws(DatabaseError) -> UInt64 {
    guard let documentCount else { return rest.end }
    var scan = self.scan.take() ?? rest.scan(view)
    var count = 0
    var end: UInt64?
    while count < documentCount {
      let passed = try view.repairing { (_) throws(PageError) in try scan.pass() }
      guard let passed else { return rest.end }
      count += passed.count
      end = SequencePartition.sequence(passed.last) ?? end
    }
    self.scan = scan
    return end ?? rest.end
  }
}
