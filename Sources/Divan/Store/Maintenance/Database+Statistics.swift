import DivanLog
import Synchronization

extension Database {
  /// Statistics of the store's contents and size.
  ///
  /// Costs a `stat` of each file, and a scan of the index entries of attachments and of retained
  /// revisions; no documents are read.
  public var statistics: Statistics {
    get throws {
      let view = try store.view()
      let attachments = try view.sizes(
        in: \.catalog, prefix: [CatalogKey.Kind.attachment.rawValue])
      let retained = try view.sizes(in: \.retained, prefix: [])
      return try translating { () throws(LogError) in
        let names = try store.directory.listing().files
        var checkpointSize = 0
        var directorySize = 0
        for name in names where name != .temporaries && name != .attachments {
          // A file that a compaction has just replaced no longer exists.
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
          attachmentFileSize: fileSize, attachmentLogSize: attachments.size,
          pinnedSize: retained.size,
          pendingIndexEntries: state.documents.memtable.count + state.documents.immutableCount,
          maintenanceProblem: store.maintenance.problem)
      }
    }
  }
}
