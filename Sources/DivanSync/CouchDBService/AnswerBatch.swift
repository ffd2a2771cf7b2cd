/// The bounds of what is read for an answer before it is sent: of its size, its number and its
/// time.
///
/// A batch is read at once, and its reader waits for it. So one row that is large or slow ends it.
struct AnswerBatch {
  private var count = 0
  private var size = 0
  private let end = ContinuousClock.now + .seconds(1)

  /// About how many bytes a batch has, without its last row.
  private static let sizeLimit = 256 << 10
  /// How many things a batch looks at, whether they have rows or not.
  private let countLimit: Int

  init(countLimit: Int = 5000) { self.countLimit = countLimit }

  /// Counts one more thing that is looked at; returns false if the batch is complete.
  ///
  /// A batch has one thing at least.
  mutating func begin() -> Bool {
    guard count > 0 else {
      count = 1
      return true
    }
    guard count < countLimit, size < Self.sizeLimit, ContinuousClock.now < end else {
      return false
    }
    count += 1
    return true
  }

  /// Counts what was read for a row.
  mutating func add(_ row: AnswerParts) { size += row.readSize }
}
