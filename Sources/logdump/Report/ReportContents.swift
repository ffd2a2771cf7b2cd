import Divan
import DivanLog

/// What a report shows: numbers and texts of a store, without markup.
struct ReportContents {
  let path: String
  var storeID: String?
  /// How the log ends, as a sentence.
  var ending = ""
  var commit: UInt64 = 0
  /// The time of the last commit, in milliseconds since 1970; nil if it is not known.
  var time: UInt64?
  /// The versions before this commit may be incomplete.
  var historyHorizon: UInt64 = 0
  /// The parts that could not be read, as sentences.
  var problems: [String] = []
  var files: [FileGroup] = []
  var segments: [SegmentUse] = []
  var timeline = Timeline()
  /// The use of all bytes of segments, with the number of records.
  var uses: [SpaceUse: Amount] = [:]
  var snapshots = TopList<NamedSnapshot>(limit: rowLimit)
  var documents = DocumentUse()
  var attachments = AttachmentUse()
  var indexes: [IndexMeasure] = []
  var views: [ViewUse] = []
  var checkpoints: [CheckpointUse] = []
  var revisions = RevisionUse()
  var damage = DamageList()

  /// The most rows of a table of documents, attachments or snapshots.
  static let rowLimit = 20
}

extension ReportContents {
  /// A number of things, and their bytes.
  struct Amount: Equatable {
    var count = 0
    var size: UInt64 = 0

    mutating func add(_ bytes: UInt64) {
      count += 1
      size += bytes
    }
  }

  /// The files of one kind in the store's directory.
  struct FileGroup: Equatable {
    let title: String
    var amount = Amount()
  }

  /// The documents in the index.
  struct DocumentUse {
    var liveCount = 0
    var deletedCount = 0
    /// The sizes of the newest records of documents that are not deleted.
    var sizes = SizeHistogram()
    var largest = TopList<Document>(limit: rowLimit)

    struct Document: Equatable {
      let id: String
      let size: Int
      let generation: UInt64
      let segment: String
    }
  }

  struct AttachmentUse {
    var inLog = Amount()
    var inFiles = Amount()
    var largest = TopList<InspectedContent>(limit: rowLimit)
    /// The references to ``largest``, in the same order.
    var references: [(documentCount: Int, first: InspectedContents.Reference?)] = []
  }

  struct ViewUse: Equatable {
    let name: String
    let version: String
    let rowCount: UInt64
    let size: Int
  }

  struct CheckpointUse: Equatable {
    let file: String
    let size: Int
    /// Whether it is the newest one, or the newest one needs its pages.
    let isUsed: Bool
    let explanation: String
  }

  /// The documents with the most revisions and leaves.
  struct RevisionUse {
    /// The number of documents that have, or had, several leaves.
    var treeCount = 0
    /// The number of documents in conflict.
    var conflictCount = 0
    var mostEdited = TopList<Edited>(limit: rowLimit)
    var mostLeaves = TopList<Branched>(limit: rowLimit)
    /// The drawn trees: that of the chosen document, or those of some with the most leaves.
    var pictures: [RevisionPicture] = []
    /// The ID of the chosen document.
    var chosen: String?

    struct Edited: Equatable {
      let id: String
      let generation: UInt64
      let isDeleted: Bool
    }

    struct Branched: Equatable {
      let id: String
      let leafCount: Int
      let branchCount: Int
    }
  }

  /// The damage that was found, in bounded memory.
  struct DamageList {
    private(set) var items: [Damage] = []
    private(set) var count = 0
    /// Findings that are no damage.
    private(set) var notes: [Damage] = []

    static let limit = 200

    mutating func add(_ damage: Damage, isNote: Bool) {
      if isNote {
        if notes.count < DamageList.limit { notes.append(damage) }
      } else {
        count += 1
        if items.count < DamageList.limit { items.append(damage) }
      }
    }
  }
}

/// What bytes of a segment are used for.
///
/// Each byte has one use.
enum SpaceUse: CaseIterable {
  /// The newest records of documents, and records that say that a document is deleted.
  case documents, deleted
  /// Superseded records that are retained, by ``InspectedContents/Retention``.
  case leaves, snapshots, history, unknown
  case attachments
  /// Local documents, definitions of indexes, names of snapshots, commit points.
  case others
  /// Records that nothing refers to any more.
  case dead
  /// Headers, frames, padding, commits, and space for the next ones.
  case framing
  /// All bytes of a file that is not part of the readable log, or whose records are not known.
  case unread
}

extension SpaceUse {
  /// Whether the bytes are superseded, and something retains them.
  var isRetained: Bool { [.leaves, .snapshots, .history, .unknown].contains(self) }

  init(_ reason: InspectedContents.Retention) {
    self =
      switch reason {
      case .leaf: .leaves
      case .namedSnapshot: .snapshots
      case .history: .history
      case .unknown: .unknown
      }
  }
}

/// A segment, and the use of its bytes.
struct SegmentUse: Equatable {
  enum State: Equatable {
    case used
    /// Its records are in another file.
    case leftover
    case unreadable
  }

  let name: String
  let path: String
  let size: UInt64
  var state = State.used
  /// The first and the last time of its commits, in milliseconds since 1970.
  var times: ClosedRange<UInt64>?
  var commitCount = 0
  var recordCount = 0
  /// The sizes of the uses, which add up to ``size``.
  var sizes: [SpaceUse: UInt64] = [:]

  /// The bytes of records that are not superseded, or that something retains.
  var live: UInt64 {
    sizes.reduce(0) { sum, use in
      [.dead, .framing, .unread].contains(use.key) ? sum : sum + use.value
    }
  }
}
