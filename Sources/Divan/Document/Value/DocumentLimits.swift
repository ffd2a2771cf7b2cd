/// The limits of a document.
///
/// ```swift
/// let isTooLong = id.utf8.count > DocumentLimits.documentIDSizeInBytes
/// ```
///
/// The limits are checked when documents are written and again when they are read.
public enum DocumentLimits {
  /// The maximum depth of arrays and objects: a number is at depth 0, `[1]` at depth 1.
  public static let depth = 100

  /// The maximum number of bytes of a document's stored form.
  public static let sizeInBytes = 16 << 20

  /// The maximum number of leaf revisions of a document, including deleted ones.
  ///
  /// More branches are not added. The limit is lower for branches with long histories of their own.
  public static let branches = 2000

  /// The maximum number of bytes of UTF-8 of a document ID.
  public static let documentIDSizeInBytes = 240
}
