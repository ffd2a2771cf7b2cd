extension StoreDirectory {
  /// Returns the damage if a directory without segments shows that it had some; else nil.
  ///
  /// The first segment and its name are durable before `HEAD`, a mark in `FLUSHED`, a checkpoint
  /// or the first file of an attachment is made. `hasHead` says whether there is a `HEAD`, readable
  /// or not; `hasMarks`, whether `FLUSHED` has a mark or cannot be read. RECOVERY.md, rule 9
  package func lossOfSegments(
    among files: Set<FileName>, hasHead: Bool, hasMarks: Bool
  ) throws(LogError) -> Damage? {
    let hasCheckpoints = files.contains { if case .checkpoint = $0 { true } else { false } }
    var isLost = hasHead || hasMarks || hasCheckpoints
    if !isLost { isLost = try hasAttachments(files) }
    guard isLost else { return nil }
    return Damage(path: path, offset: 0, reason: "the store has lost all of its segments")
  }

  private func hasAttachments(_ files: Set<FileName>) throws(LogError) -> Bool {
    guard files.contains(.attachments) else { return false }
    return try AttachmentFiles(self, AttachmentFiles.Settings(isMapped: false)).hasFiles()
  }
}
