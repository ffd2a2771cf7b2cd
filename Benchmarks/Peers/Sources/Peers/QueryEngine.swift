/// A store that finds documents by their properties.
protocol QueryEngine: Engine {
  /// Adds an index of `created`, whose values are nearly all different.
  func addIndex() throws

  /// Adds an index of each of the tags, or the store's replacement for one.
  func addElementIndex() throws

  /// Removes the indexes of the other two calls, if they exist.
  func removeIndexes() throws

  /// Runs a query.
  func answer(_ question: Question) throws -> Answer
}

/// A query of a store.
enum Question {
  /// The documents that were created at a moment; their titles are read.
  case equal(created: String)
  /// The first hundred from a moment on, in the order of the moments; their titles are read.
  case range(from: String)
  /// The number of documents that were created in a period.
  case count(from: String, upTo: String)
  /// The number of documents that are done and later than a year, which no index covers.
  case filter(after: Int)
  /// The same documents; their titles are read.
  case find(after: Int)
  /// A hundred documents that have a tag; their titles are read.
  case element(tag: String)

  /// The maximum number of documents that ``range(from:)`` and ``element(tag:)`` find.
  static let limit = 100
}

/// The result of a query.
struct Answer {
  var count = 0
  /// The number of bytes of the titles that were read.
  var titleSize: UInt64 = 0
}
