package import DivanLog

/// A writer of a database version as JSON Lines, in pieces, with memory for one line.
///
/// Large attachments come in separate lines before the first document that refers to them; later
/// documents only name them. Not thread-safe: one thread at a time may use it.
package final class JSONLinesExport {
  private let view: ReadView
  private let options: JSONLines.ExportOptions
  /// Receives damage, and the export continues without it; if nil, damage is thrown.
  private let onDamage: ((DatabaseError) throws -> Void)?
  private var documents: Documents
  private var localDocuments: LayeredScan?
  /// The remaining leaves of the current document, the next one last.
  private var leaves: [Leaf] = []
  /// The line to write once all content that precedes it is written.
  private var line: Line?
  /// The content that is being written.
  private var blob: Blob?
  /// The contents already written; beyond a limit, contents may be written again.
  private var written: Set<SHA256.Digest> = []
  private let writtenLimit: Int
  private var writer = ExportedLine()
  /// The text that was not returned yet.
  private var text = ByteWriter(capacity: pieceSizeGoal * 5 / 4)
  private var lastDamage = ""
  /// The progress of the export.
  package private(set) var progress: JSONLines.Progress

  private static let pieceSizeGoal = 1 << 16

  private enum Documents {
    case byID(EntryCursor)
    case bySequence(ChangeCursor)
  }

  private struct Blob {
    let digest: SHA256.Digest
    let length: Int
    var stream: AttachmentStream
  }

  fileprivate struct Leaf {
    let id: String
    let newest: DocumentRecord
    /// The sequence number of the leaf's record, which may be another one.
    let sequence: UInt64
    let history: [RevisionID]?
    /// Set once for each document.
    var expiry: UInt64?
  }

  fileprivate struct Line {
    let leaf: Leaf
    let record: DocumentRecord
    var attachments: [ExportedLine.Attachment] = []
    /// The attachments whose contents are not located yet, the next one last.
    var rest: [AttachmentEntry]
    var inlineSize = 0
  }

  /// Begins with the first document of a version.
  package init(
    _ snapshot: Snapshot, _ options: JSONLines.ExportOptions,
    writtenLimit: Int = 1 << 16, onDamage: ((DatabaseError) throws -> Void)? = nil
  ) {
    view = snapshot.view
    self.writtenLimit = writtenLimit
    self.options = options
    self.onDamage = onDamage
    documents =
      switch options.order {
      case .byID:
        .byID(
          EntryCursor(
            view, .all, descending: false, includesDeleted: options.content.contains(.revisions)))
      case .bySequence: .bySequence(ChangeCursor(view, since: 0))
      }
    // Past versions have none.
    if options.content.contains(.localDocuments), view.past == nil {
      localDocuments = view.scanLocalDocuments(.all)
    }
    progress = JSONLines.Progress(
      totalDocumentCount: Int(clamping: view.past?.documentCount ?? view.state.documentCount))
  }
}

extension JSONLinesExport {
  /// Returns the next piece of the text, some whole lines; nil at the end.
  package func next() throws -> SharedBytes? {
    while text.count < JSONLinesExport.pieceSizeGoal {
      do throws(DatabaseError) {
        guard try step() else { break }
      } catch {
        try leaveOut(error)
      }
    }
    guard text.count > 0 else { return nil }
    defer { text.removeAll() }
    progress.byteCount += text.count
    return text.sharedCopy
  }

  /// Continues after damage, if there is a handler for it.
  private func leaveOut(_ error: DatabaseError) throws {
    // The same error twice means that the export did not advance.
    guard error.code == .damaged, let onDamage, "\(error)" != lastDamage else { throw error }
    lastDamage = "\(error)"
    blob = nil
    try onDamage(error)
  }

  /// Performs the next step; returns false at the end.
  private func step() throws(DatabaseError) -> Bool {
    // A document that was found is passed, whatever is damaged: only the search for the next one
    // may not advance.
    if blob != nil || line != nil || !leaves.isEmpty { lastDamage = "" }
    if let blob {
      try writePiece(of: blob)
    } else if let line = self.line.take() {
      try proceed(with: line)
    } else if let leaf = leaves.popLast() {
      try begin(leaf)
    } else if let (id, entry) = try nextDocument() {
      try begin(id, entry)
    } else {
      return try writeLocalDocument()
    }
    return true
  }

  private func nextDocument() throws(DatabaseError) -> (String, DocumentEntry)? {
    switch documents {
    case .byID(var cursor):
      defer { documents = .byID(cursor) }
      guard let (id, entry) = try cursor.next() else { return nil }
      return (try view.text(ofID: id), entry)
    case .bySequence(var cursor):
      defer { documents = .bySequence(cursor) }
      while let id = try cursor.nextID() {
        if let entry = try view.entry(id),
          !entry.isDeleted || options.content.contains(.revisions)
        {
          return (id, entry)
        }
      }
      return nil
    }
  }

  private func begin(_ id: String, _ entry: DocumentEntry) throws(DatabaseError) {
    let newest = try view.newestRecord(of: entry, id)
    if options.content.contains(.revisions) {
      let tree = try view.tree(of: newest)
      leaves = tree.leaves.reversed().map { index in
        Leaf(
          id: id, newest: newest, sequence: tree.nodes[index].sequence,
          history: tree.history(of: index).map(\.revision))
      }
    } else {
      leaves = [
        Leaf(
          id: id, newest: newest, sequence: entry.winningSequence ?? newest.sequence, history: nil)
      ]
    }
    if options.content.contains(.expiries), let expiry = newest.details?.expiry {
      leaves[leaves.count - 1].expiry = expiry
    }
    if !entry.isDeleted { progress.documentCount += 1 }
  }

  private func begin(_ leaf: Leaf) throws(DatabaseError) {
    var record = leaf.newest
    if leaf.sequence != record.sequence {
      // In a past version, a leaf may have been purged since.
      if view.past != nil, try !view.retains(leaf.sequence, of: record.idBytes) { return }
      record = try view.retainedRecord(leaf.sequence, of: leaf.id)
    }
    line = Line(leaf: leaf, record: record, rest: record.details?.attachments.reversed() ?? [])
  }

  /// Processes the next attachment of a line, or writes the line.
  private func proceed(with waiting: Line) throws(DatabaseError) {
    var line = waiting
    guard let entry = line.rest.popLast() else {
      return try writer.append(
        line.record, id: line.leaf.id, history: line.leaf.history, expiry: line.leaf.expiry,
        line.attachments, to: &text)
    }
    // Added first, so that it is listed even if its content is damaged.
    line.attachments.append(.init(entry: entry, content: .absent))
    defer { self.line = line }
    guard options.content.contains(.attachments) else { return }
    if written.contains(entry.digest) {
      line.setContent(.before)
      return
    }
    let reader = try view.openAttachment(entry.digest)
    if reader.length + line.inlineSize <= max(0, options.inlineSizeLimit) {
      line.setContent(.inline(try translating { () throws(LogError) in try reader.readAll() }))
      line.inlineSize += reader.length
    } else {
      blob = Blob(digest: entry.digest, length: reader.length, stream: reader.stream())
    }
  }

  /// Writes a piece of content that precedes the line of its document.
  private func writePiece(of blob: Blob) throws(DatabaseError) {
    var blob = blob
    let offset = blob.stream.offset
    let piece = try translating { () throws(LogError) in try blob.stream.next() }
    guard let piece else {
      self.blob = nil
      line?.setContent(.before)
      if written.count >= writtenLimit { written.removeAll() }
      written.insert(blob.digest)
      return
    }
    self.blob = blob
    writer.append(piece: piece, at: offset, of: blob.digest, length: blob.length, to: &text)
  }

  private func writeLocalDocument() throws(DatabaseError) -> Bool {
    guard var scan = localDocuments else { return false }
    defer { localDocuments = scan }
    guard let id = try view.nextLocalDocument(&scan) else { return false }
    if let properties = try view.localProperties(id) {
      try writer.append(localDocument: id, properties.bytes, to: &text)
    }
    return true
  }
}

extension JSONLinesExport.Line {
  /// Sets where the last attachment's content is.
  fileprivate mutating func setContent(_ content: ExportedLine.Attachment.Content) {
    attachments[attachments.count - 1].content = content
  }
}
