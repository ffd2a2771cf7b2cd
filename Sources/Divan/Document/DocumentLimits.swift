/// What a document may be at most.
///
/// The limits are checked when documents are written and again when they are read.
public enum DocumentLimits {
  /// How deeply arrays and objects may be nested: a number is at depth 0, `[1]` at depth 1.
  public static let depth = 100

  /// How many bytes a document's stored form may have.
  public static let sizeInBytes = 16 << 20

  /// How many revisions that end a branch, deleted ones included, a document may have before none is added.
  public static let branches = 2000

  /// How many bytes of UTF-8 a document ID may have.
  public static let documentIDSizeInBytes = 240
}
