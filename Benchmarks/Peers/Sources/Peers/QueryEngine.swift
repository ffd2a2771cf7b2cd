/// A store that finds documents by what they hold.
protocol QueryEngine: Engine {
  /// Makes an index of `created`, whose values are nearly all different.
  func addIndex() throws

  /// Makes an index of each of the tags, or what the store has in place of one.
  func addElementIndex() throws

  /// Takes away what the other two made, if it is there.
  func removeIndexes() throws

  /// Finds what a question means.
  func answer(_ question: Question) throws -> Answer
}

/// What a store is asked.
enum Question {
  /// The documents that were created at a moment; their titles are read.
  case equal(created: String)
  /// The first hundred from a moment on, in the order of the moments; their titles are read.
  case range(from: String)
  /// How many were created in a time.
  case count(from: String, upTo: String)
  /// How many are done and later than a year, which no index knows.
  case filter(after: Int)
  /// The same documents; their titles are read.
  case find(after: Int)
  /// A hundred documents that have a tag; their titles are read.
  case element(tag: String)

  /// The most documents that ``range(from:)`` and ``element(tag:)`` find.
  static let limit = 100
}

/// What was found.
struct Answer {
  var count = 0
  /// The bytes of the titles that were read.
  var titleSize: UInt64 = 0
}
