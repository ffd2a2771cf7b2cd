/// What several threads did to one store, and what they saw of it.
///
/// Moments are numbers of one counter for all threads: a call that ended before another began has the
/// smaller ones. Keys are documents, values what is in them; nil is a document that is not there.
package struct History: Sendable {
  /// A part of a transaction, in the order in which it was done.
  package enum Step: Sendable, Equatable {
    /// A document was read, and this was in it.
    case read(String, String?)
    /// A document was written, and got this sequence number.
    case write(String, String?, sequence: UInt64)
    /// What follows up to the matching ``taken`` or ``takenBack`` is nested.
    case begin
    /// What was nested is kept.
    case taken
    /// What was nested threw an error, and counts no more.
    case takenBack
  }

  /// How a transaction ended.
  package enum Outcome: Sendable, Equatable {
    /// `write` returned.
    case committed
    /// It threw before it was committed, or was told that nothing was.
    case aborted
    /// It was told that the outcome is unknown.
    case unknown
  }

  /// A call of `write`.
  package struct Transaction: Sendable {
    package var name: String
    package var begin: Int
    package var end: Int
    package var steps: [Step]
    package var outcome: Outcome
    /// Whether it was to be durable before it returned, and before anybody saw it.
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

  /// A snapshot, with all that was read from it, however much later.
  package struct View: Sendable {
    package var name: String
    /// When it was asked for, and when it was there.
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
    /// How many documents there are.
    case count(Int)
    /// The feed from a sequence number on.
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

  /// What the documents were at first, in the order of their sequence numbers.
  package var initial: [Change] = []
  /// The highest sequence number that anybody was told of before.
  package var spentSequence: UInt64 = 0
  package var transactions: [Transaction] = []
  package var views: [View] = []
  /// What was found when the store was opened again, if the history ended with a crash.
  package var recovered: View?

  package init() {}
}

extension History.Transaction {
  /// What it wrote and did not take back itself, in order.
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
