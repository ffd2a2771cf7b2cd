import DivanLog

/// Of what the index knows of a document, that which it takes to read it.
///
/// Plain numbers: so many of them are copied without counting a reference.
struct DocumentPlace: BitwiseCopyable, Equatable, Sendable {
  /// Where the document's newest record stands.
  var locator: RecordLocator
  /// The sequence number of that record.
  var sequence: UInt64
  /// The sequence number of the winning revision's record, if the newest one is another's.
  var winningSequence: UInt64?
  /// Whether the winning revision says that the document is deleted.
  var isDeleted: Bool
}

extension DocumentPlace {
  /// Stands for a document that the index does not know: it is as good as deleted.
  static let unknown = DocumentPlace(
    locator: RecordLocator(fileID: 0, offset: 0, size: 0), sequence: 0, isDeleted: true)
}
