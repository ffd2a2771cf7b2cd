import DivanLog
import Synchronization

/// The contents of a store and the space that they take.
public struct Statistics: Sendable {
  /// A segment of the log.
  public struct Segment: Sendable {
    /// The file's name.
    public let name: String
    /// The file's size in bytes.
    public let size: Int
    /// Bytes of records that are current.
    public let liveSize: Int
    /// Bytes of records that were superseded; merging the segment reclaims them.
    public let deadSize: Int
    /// Whether commits are appended to it now.
    public let isActive: Bool
  }

  /// The number of documents that are not deleted.
  public let documentCount: Int
  /// The sequence number of the last change.
  public let sequence: UInt64
  /// The number of the last commit.
  public let commit: UInt64
  /// The files of the log, oldest first.
  public let segments: [Segment]
  /// Bytes of all checkpoints.
  public let checkpointSize: Int
  /// Bytes of the store's directory, including attachment files.
  public let directorySize: Int
  /// The number of distinct attachment contents, however many documents refer to each.
  public let attachmentCount: Int
  /// The number of files that each hold the content of a large attachment.
  ///
  /// Some may belong to attachments that were removed recently.
  public let attachmentFileCount: Int
  /// Bytes of those files.
  public let attachmentFileSize: Int
  /// Bytes of the log that attachments take: small contents, and the checksums of large ones.
  public let attachmentLogSize: Int
  /// Bytes of the log that retained records take in addition to the newest one of each document.
  ///
  /// They are retained for ``Configuration/history``, for named snapshots, or because a conflict is
  /// not resolved. They count as ``liveSize``. ``Database/namedSnapshots()`` reports what each
  /// snapshot needs.
  public let heldSize: Int
  /// The number of index entries in memory that are in no checkpoint yet.
  public let pendingIndexEntries: Int
  /// The error of the last background maintenance step; nil if it succeeded.
  public let maintenanceProblem: DatabaseError?

  /// Bytes of records that are current.
  public var liveSize: Int { segments.reduce(0) { $0 + $1.liveSize } }
  /// Bytes of records that were superseded.
  public var deadSize: Int { segments.reduce(0) { $0 + $1.deadSize } }
}

extension Database {
  /// Statistics of the store's contents and size.
  ///
  /// Costs a `stat` of each file, and a walk over the index entries of attachments and of retained
  /// superseded revisions; no documents are read.
  public var statistics: Statistics {
    get throws {
      let view = try store.view()
      let attachments = try view.sizes(
        in: \.catalog, prefix: [CatalogKey.Kind.attachment.rawValue])
      let held = try view.sizes(in: \.retained, prefix: [])
      return try translating { () throws(LogError) in
        let names = try store.directory.listing().files
        var checkpointSize = 0
        var directorySize = 0
        for name in names where name != .temporaries && name != .attachments {
          // A file that was just replaced by a merge no longer exists.
          guard let status = try? store.directory.fileSystem.status(store.directory.path(of: name))
          else { continue }
          directorySize += status.size
          if case .checkpoint = name { checkpointSize += status.size }
        }
        var (fileCount, fileSize) = (0, 0)
        _ = try store.attachments.forEachFile { file in
          fileCount += 1
          fileSize += file.size
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
          checkpointSize: checkpointSize, directorySize: directorySize + fileSize,
          attachmentCount: attachments.count, attachmentFileCount: fileCount,
          attachmentFileSize: fileSize, attachmentLogSize: attachments.size, heldSize: held.size,
          pendingIndexEntries: state.documents.memtable.count + state.documents.immutableCount,
          maintenanceProblem: store.maintenance.problem)
      }
    }
  }
}

extension ReadView {
  /// Returns the number of keys in a tree with a prefix, and the total size of their records.
  fileprivate func sizes(
    in tree: KeyPath<Version, LayeredTree>, prefix: [UInt8]
  ) throws(DatabaseError) -> (count: Int, size: Int) {
    var scan = state[keyPath: tree].scan(from: .inclusive(prefix), to: .end(ofPrefix: prefix))
    var (count, size) = (0, 0)
    while let item = try step(&scan) {
      count += 1
      size += Int(try decodeLocator(item).size)
    }
    return (count, size)
  }
}
