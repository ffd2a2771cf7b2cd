import Divan
import DivanLog

// What a report shows of files, and of checkpoints and views.

extension ReportGathering {
  mutating func addFiles() throws {
    let fileSystem = log.directory.fileSystem
    var groups: [String: ReportContents.Amount] = [:]
    for name in log.files where name != .temporaries && name != .attachments {
      guard let status = try? fileSystem.status(log.directory.path(of: name)) else { continue }
      groups[title(of: name), default: ReportContents.Amount()].add(UInt64(status.size))
    }
    let files = AttachmentFiles(log.directory, AttachmentFiles.Settings(isMapped: false))
    _ = try files.forEachFile { file in
      groups["Attachments", default: ReportContents.Amount()].add(UInt64(file.size))
    }
    if log.files.contains(.temporaries) {
      let folder = log.directory.path(of: .temporaries)
      for name in try fileSystem.list(folder) {
        guard let status = try? fileSystem.status("\(folder)/\(name)") else { continue }
        groups["Unfinished or left over", default: ReportContents.Amount()]
          .add(UInt64(status.size))
      }
    }
    let order = [
      "Segments", "Attachments", "Checkpoints", "Views", "Reserve", "Unfinished or left over",
      "Other files",
    ]
    contents.files = order.compactMap { title in
      groups[title].map { ReportContents.FileGroup(title: title, amount: $0) }
    }
  }

  private func title(of name: FileName) -> String {
    switch name {
    case _ where log.chain.leftovers.contains(name): "Unfinished or left over"
    case .segment: "Segments"
    case .checkpoint: "Checkpoints"
    case .view: "Views"
    case .reserve: "Reserve"
    default: "Other files"
    }
  }

  /// Describes and checks the files that are derived from the log.
  mutating func addDerivedFiles() throws {
    for number in log.files.checkpointNumbers {
      progress.step("Reading checkpoint \(number)")
      let name = FileName.checkpoint(number)
      guard try unlessGone({ try CheckpointCheck(number, log, findings).checkFrames() }) != nil,
        let status = try? log.directory.fileSystem.status(log.directory.path(of: name))
      else { continue }
      let (isUsed, explanation) = use(ofCheckpoint: number)
      contents.checkpoints.append(
        ReportContents.CheckpointUse(
          file: "\(name)", size: status.size, isUsed: isUsed, explanation: explanation))
    }
    for name in log.files.views {
      progress.step("Reading view \(name)")
      try unlessGone { try ViewCheck(name, log, findings).run() }
      guard let view = try? InspectedView(name, in: log.directory),
        let status = try? log.directory.fileSystem.status(log.directory.path(of: name))
      else { continue }
      contents.views.append(
        ReportContents.ViewUse(
          name: view.name, version: view.version, rowCount: UInt64(view.header.rowCount),
          size: status.size))
    }
  }

  private func use(ofCheckpoint number: UInt64) -> (isUsed: Bool, explanation: String) {
    guard let newest = log.checkpoint else { return (false, "cannot be used") }
    if newest.number == number {
      return (true, "the newest, with the index through commit \(newest.end.commit)")
    }
    return newest.checkpointsInUse.contains(number)
      ? (true, "checkpoint \(newest.number) uses its pages") : (false, "not needed any more")
  }

  func addNotes() throws {
    for name in log.foreign {
      try findings.note(
        Damage(path: "\(log.directory.path)/\(name)", offset: 0, reason: "not a file of the store"))
    }
    if let tail = log.tornTail, let last = log.last {
      try findings.note(
        Damage(
          path: last.file.path, offset: tail.lowerBound, size: tail.count,
          reason: "an unfinished transaction, which never counted"))
    }
  }
}
