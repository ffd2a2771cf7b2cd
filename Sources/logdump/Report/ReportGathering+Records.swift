import Divan
import DivanLog

// What a report shows of documents, attachments and other records.

extension ReportGathering {
  private mutating func use(_ locator: RecordLocator, for use: SpaceUse) {
    contents.uses[use, default: ReportContents.Amount()].add(UInt64(locator.size))
    guard let index = segmentIndexes[locator.fileID] else { return }
    contents.segments[index].sizes[use, default: 0] += UInt64(locator.size)
    contents.timeline.addLive(locator, isCurrent: !use.isRetained)
  }

  mutating func addDocuments(_ inspected: InspectedContents) throws {
    var count = 0
    try inspected.forEachDocument { entry in
      count += 1
      if count.isMultiple(of: 4096) { progress.step("Measuring documents: \(count) so far") }
      use(entry.locator, for: entry.isDeleted ? .deleted : .documents)
      contents.revisions.mostEdited.add(
        rank: entry.generation,
        ReportContents.RevisionUse.Edited(
          id: entry.id, generation: entry.generation, isDeleted: entry.isDeleted))
      if entry.hasTree { addTree(entry, inspected) }
      guard !entry.isDeleted else { return contents.documents.deletedCount += 1 }
      let size = UInt64(entry.locator.size)
      let segment = segmentIndexes[entry.locator.fileID].map { contents.segments[$0].name }
      contents.documents.liveCount += 1
      contents.documents.sizes.add(size)
      contents.documents.largest.add(
        rank: size,
        ReportContents.DocumentUse.Document(
          id: entry.id, size: Int(entry.locator.size), generation: entry.generation,
          segment: segment ?? "?"))
    }
  }

  /// Counts a document that has, or had, several leaves.
  private mutating func addTree(_ entry: InspectedContents.Entry, _ inspected: InspectedContents) {
    contents.revisions.treeCount += 1
    let id = entry.id
    // The scan of the log has reported a damaged record.
    guard let counts = try? inspected.leafCounts(of: id) else { return }
    if counts.live > 1 { contents.revisions.conflictCount += 1 }
    contents.revisions.mostLeaves.add(
      rank: UInt64(counts.live) << 32 + UInt64(min(counts.all, 1 << 31)),
      ReportContents.RevisionUse.Branched(
        id: id, leafCount: counts.all, branchCount: counts.live))
  }

  mutating func addRetained(_ inspected: InspectedContents) throws {
    try inspected.forEachRetained { reason, locator in use(locator, for: SpaceUse(reason)) }
  }

  mutating func addOthers(_ inspected: InspectedContents) throws {
    try inspected.forEachOtherRecord { use($0, for: .others) }
  }

  mutating func addAttachments(_ inspected: InspectedContents) throws {
    var damaged: [InspectedContent] = []
    var errors: [DatabaseError] = []
    var count = 0
    try inspected.forEachAttachment { result in
      count += 1
      if count.isMultiple(of: 256) { progress.step("Measuring attachments: \(count) so far") }
      switch result {
      case .success(let found):
        use(found.locator, for: .attachments)
        if found.isFile {
          contents.attachments.inFiles.add(UInt64(found.length))
        } else {
          contents.attachments.inLog.add(UInt64(found.length))
        }
        contents.attachments.largest.add(rank: UInt64(found.length), found)
        if found.damage != nil, damaged.count < ReportContents.DamageList.limit {
          damaged.append(found)
        }
      case .failure(let error):
        if errors.count < ReportContents.DamageList.limit { errors.append(error) }
      }
    }
    for error in errors { try add(error) }
    for each in damaged {
      // Content that nothing refers to any more may be gone.
      guard let damage = each.damage, try inspected.references(to: each.digest).documentCount > 0
      else { continue }
      try add(damage)
    }
    contents.attachments.references = try contents.attachments.largest.elements.map {
      try inspected.references(to: $0.digest)
    }
  }

  mutating func addRevisions(
    _ inspected: InspectedContents, _ document: String?
  ) throws {
    if let document {
      contents.revisions.chosen = document
      let revisions = try inspected.revisions(of: document)
      guard !revisions.isEmpty else {
        // Nothing is known to be absent in a damaged store.
        guard findings.damageCount == 0 else {
          throw LogError.damaged(
            Damage(path: contents.path, offset: 0, reason: "`\(document)` was not found"))
        }
        throw UsageError(reason: "there is no document `\(document)`, not even a deleted one")
      }
      contents.revisions.pictures = [RevisionPicture(document, revisions)]
      return
    }
    for each in contents.revisions.mostLeaves.elements.prefix(3) {
      contents.revisions.pictures.append(
        RevisionPicture(each.id, try inspected.revisions(of: each.id)))
    }
  }
}
