import DivanLog

/// The part of an index entry that is needed to read the document.
///
/// A trivial type: many of them are copied without reference counting.
struct DocumentLocation: BitwiseCopyable, Equatable, Sendable {
  /// The locator of the document's newest record.
  var locator: RecordLocator
  /// The sequence number of that record.
  var sequence: UInt64
  /// The sequence number of the winning revision's record, if that is not the newest one.
  var winningSequence: UInt64?
  /// Whether the winning revision says that the document is deleted.
  var isDeleted: Bool
}

extension DocumentLocation {
  /// The location of a document that is not in the index; it counts as deleted.
  static let unknown = DocumentLocation(
    locator: RecordLocator(fileID: 0, offset: 0, size: 0), sequence: 0, isDeleted: true)
}
