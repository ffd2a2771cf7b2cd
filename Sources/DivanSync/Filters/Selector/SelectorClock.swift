import Divan

/// Ends the evaluation of a selector when its time is over.
///
/// Evaluating counts its steps here, also within one document: one may have a text of megabytes, or
/// a million elements.
struct SelectorClock {
  private let deadline: ContinuousClock.Instant?
  /// The steps since the time was looked at.
  private var stepCount = 0

  /// Creates a clock; nil lets an evaluation take as long as it takes.
  init(deadline: ContinuousClock.Instant?) { self.deadline = deadline }

  /// How many steps are counted until the time is looked at, which takes as long as some of them.
  private static let interval = 256

  /// Counts steps.
  ///
  /// - Throws: ``SelectorFailure/timeIsOver``.
  mutating func step(_ count: Int = 1) throws(SelectorFailure) {
    guard let deadline else { return }
    stepCount += count
    guard stepCount >= Self.interval else { return }
    stepCount = 0
    guard ContinuousClock.now < deadline else { throw .timeIsOver }
  }

  /// Counts a test of a value, in proportion to what it may look at.
  mutating func step(for value: Value) throws(SelectorFailure) {
    switch value {
    case .string(let text): try step(1 + text.utf8.count / 16)
    case .array(let elements): try step(1 + elements.count / 16)
    case .object(let members): try step(1 + members.count / 16)
    default: try step()
    }
  }

  /// Counts a comparison of two values, in proportion to what it may look at.
  ///
  /// It looks at no more elements and members than either has, and at all of their texts.
  mutating func step(forComparing a: Value, _ b: Value) throws(SelectorFailure) {
    switch (a, b) {
    case (.string(let a), .string(let b)): try step(1 + (a.utf8.count + b.utf8.count) / 16)
    case (.array(let a), .array(let b)):
      try step()
      for (a, b) in zip(a, b) { try step(forComparing: a, b) }
    case (.object(let a), .object(let b)):
      try step()
      for (a, b) in zip(a, b) {
        try step((a.key.utf8.count + b.key.utf8.count) / 16)
        try step(forComparing: a.value, b.value)
      }
    default: try step()
    }
  }
}

/// Why a selector has no result for a document.
enum SelectorFailure: Error {
  /// CouchDB has an error for `$nor` in a condition on elements.
  case unevaluated
  /// The evaluation took too long.
  case timeIsOver
}
