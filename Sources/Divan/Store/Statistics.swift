import DivanLog
import Synchronization

/// What a store holds, and what it takes.
public struct Statistics: Sendable {
  /// A file of the log.
  public struct Segment: Sendable {
    /// The file's name.
    public let name: String
    /// The file's size in bytes.
    public let size: Int
    /// Bytes of records that are current.
    public let liveSize: Int
    /// Bytes of records that were superseded; they are given back when the segment is merged.
    public let deadSize: Int
    /// Whether commits are appended to it now.
    public let isActive: Bool
  }

  /// Documents that are not deleted.
  public let documentCount: Int
  /// The sequence number of the last change.
  public let sequence: UInt64
  /// The number of the last commit.
  public let commit: UInt64
  /// The files of the log, oldest first.
  public let segments: [Segment]
  /// Bytes of all checkpoints.
  public let checkpointSize: Int
  /// Bytes that the store's directory takes.
  public let directorySize: Int
  /// Entries of the index in memory that no checkpoint holds yet.
  public let pendingIndexEntries: Int
  /// Why the last step of maintenance in the background failed; nil if it did not.
  public let maintenanceProblem: DatabaseError?

  /// Bytes of records that are current.
  public var liveSize: Int { segments.reduce(0) { $0 + $1.liveSize } }
  /// Bytes of records that were superseded.
  public var deadSize: Int { segments.reduce(0) { $0 + $1.deadSize } }
}

extension Database {
  /// What the store holds and takes.
  ///
  /// Costs a look at each of its files, not at documents.
  public var statistics: Statistics {
    get throws {
      let view = try store.view()
      return try translating { () throws(LogError) in
        let names = try store.directory.listing().files
        var checkpointSize = 0
        var directorySize = 0
        for name in names where name != .temporaries && name != .attachments {
          // A file that a merge has just replaced is gone.
          guard let status = try? store.directory.fileSystem.status(store.directory.path(of: name))
          else { continue }
          directorySize += status.size
          if case .checkpoint = name { checkpointSize += status.size }
        }
        let table = view.state.segments
        var segments: [(UInt64, Statistics.Segment)] = []
        for (segment, usage) in zip(table.segments, table.usages) {
          segments.append(
            (
              segment.header.numbers.lowerBound,
              Statistics.Segment(
                name: "\(segment.file.name)", size: try segment.file.size(),
                liveSize: Int(clamping: usage.total - usage.dead),
                deadSize: Int(clamping: usage.dead),
                isActive: segment.fileID == store.commits.activeFileID)
            ))
        }
        let state = view.state
        return Statistics(
          documentCount: Int(clamping: state.documentCount), sequence: state.lastSequence,
          commit: state.commit, segments: segments.sorted { $0.0 < $1.0 }.map(\.1),
          checkpointSize: checkpointSize, directorySize: directorySize,
          pendingIndexEntries: state.documents.overlay.count + state.documents.frozenCount,
          maintenanceProblem: store.maintenance.problem)
      }
    }
  }
}
