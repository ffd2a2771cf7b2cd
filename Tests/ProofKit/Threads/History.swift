/// The operations of several threads on one store, and their results.
///
/// Moments are numbers of one counter for all threads: a call that ended before another began has
/// the smaller ones. Keys are documents, values are their contents; nil is a missing document.
package struct History: Sendable {
  /// A part of a transaction, in the order in which it was done.
  package enum Step: Sendable, Equatable {
    /// A document was read, with this value.
    case read(String, String?)
    /// A document was written, with this sequence number.
    case write(String, String?, sequence: UInt64)
    /// The steps up to the matching ``taken`` or ``takenBack`` are nested.
    case begin
    /// The nested steps are kept.
    case taken
    /// The nested steps threw an error, and were rolled back.
    case takenBack
  }

  /// How a transaction ended.
  package enum Outcome: Sendable, Equatable {
    /// `write` returned.
    case committed
    /// It threw before it was committed, or with an error that nothing was.
    case aborted
    /// It threw an error that the outcome is unknown.
    case unknown
  }

  /// A call of `write`.
  package struct Transaction: Sendable {
    package var name: String
    package var begin: Int
    package var end: Int
    package var steps: [Step]
    package var outcome: Outcome
    /// Whether it had to be durable before it returned, and before it was visible.
    package var isFull: Bool

    package init(
      _ name: String, _ moments: ClosedRange<Int>, _ steps: [Step], _ outcome: Outcome = .committed,
      isFull: Bool = true
    ) {
      self.name = name
      begin = moments.lowerBound
      end = moments.upperBound
      self.steps = steps
      self.outcome = outcome
      self.isFull = isFull
    }
  }

  /// A snapshot, with everything that was read from it, however much later.
  package struct View: Sendable {
    package var name: String
    /// The moments at which it was requested, and at which it was available.
    package var begin: Int
    package var end: Int
    package var sequence: UInt64
    package var reads: [Read] = []

    package init(_ name: String, _ moments: ClosedRange<Int>, sequence: UInt64, _ reads: [Read]) {
      self.name = name
      begin = moments.lowerBound
      end = moments.upperBound
      self.sequence = sequence
      self.reads = reads
    }
  }

  /// Something that was read from a snapshot.
  package enum Read: Sendable, Equatable {
    /// One document.
    case document(String, String?)
    /// All documents, in order.
    case everything([String: String])
    /// The number of documents.
    case count(Int)
    /// The feed after a sequence number.
    case changes(since: UInt64, [Change])
  }

  /// An entry of a feed.
  package struct Change: Sendable, Equatable {
    package var key: String
    package var value: String?
    package var sequence: UInt64

    package init(_ key: String, _ value: String?, sequence: UInt64) {
      self.key = key
      self.value = value
      self.sequence = sequence
    }
  }

  /// The initial documents, in the order of their sequence numbers.
  package var initial: [Change] = []
  /// The highest sequence number that was returned to a caller before.
  package var spentSequence: UInt64 = 0
  package var transactions: [Transaction] = []
  package var views: [View] = []
  /// The contents when the store was opened again, if the history ended with a crash.
  package var recovered: View?

  package init() {}
}

extension History.Transaction {
  /// Its writes except for those that were rolled back, in order.
  package var writes: [History.Change] {
    var writes: [History.Change] = []
    var marks: [Int] = []
    for step in steps {
      switch step {
      case .write(let key, let value, let sequence):
        writes.append(History.Change(key, value, sequence: sequence))
      case .begin: marks.append(writes.count)
      case .taken: _ = marks.popLast()
      case .takenBack: writes.removeSubrange((marks.popLast() ?? 0)...)
      case .read: break
      }
    }
    return writes
  }
}
