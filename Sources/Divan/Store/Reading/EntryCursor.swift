import DivanLog

/// A cursor over index entries of documents, on request with deleted ones.
///
/// To read the documents, too, ``DocumentLocationCursor`` is faster.
struct EntryCursor {
  private let view: ReadView
  private let includesDeleted: Bool
  private var scan: LayeredScan

  init(
    _ view: ReadView, _ range: IDRange, descending: Bool, includesDeleted: Bool = false
  ) {
    self.view = view
    self.includesDeleted = includesDeleted
    scan = view.state.documents.scan(from: range.lower, to: range.upper, descending: descending)
  }

  mutating func next() throws(DatabaseError) -> (id: SharedBytes, entry: DocumentEntry)? {
    while true {
      guard let item = try view.step(&scan) else { return nil }
      let newest = try view.decodeEntry(item)
      // In the newest version this is the entry itself, which is not copied again.
      guard let entry = try view.past == nil ? newest : view.entry(before: newest, item.key),
        includesDeleted || !entry.isDeleted
      else { continue }
      return (item.key, entry)
    }
  }
}
