/// A regular expression that is matched in time proportional to its size and to that of the text.
///
/// All ways to match are followed at once, a scalar at a time (Thompson, 1968), so that none is
/// tried again. It has at most ``sizeLimit`` steps.
struct LinearPattern: Sendable {
  private enum Step: Sendable {
    /// A scalar that is accepted leads to the next step.
    case scalar(ScalarTest)
    case place(PatternSyntax.Place)
    /// Leads to both steps.
    case fork(Int, Int)
    case jump(Int)
    case match
  }

  private var steps: [Step] = []
  /// The number of steps, in which each test of a class counts.
  private(set) var size = 0

  /// The number of steps that an expression may have; `{1,50}` has those of 50 copies.
  static let sizeLimit = 300

  /// Prepares an expression.
  ///
  /// - Throws: `PatternSyntax.Refusal`.
  init(_ text: String) throws(PatternSyntax.Refusal) {
    try append(try PatternSyntax(text))
    try append(Step.match)
  }
}

// MARK: - Preparation

extension LinearPattern {
  private mutating func append(_ step: Step) throws(PatternSyntax.Refusal) {
    if case .scalar(let test) = step { size += test.count } else { size += 1 }
    guard size <= Self.sizeLimit else {
      throw PatternSyntax.Refusal(
        "it has more than \(Self.sizeLimit) steps, in which repetitions count as often as they say")
    }
    steps.append(step)
  }

  private mutating func append(_ syntax: PatternSyntax) throws(PatternSyntax.Refusal) {
    switch syntax {
    case .scalar(let test): try append(Step.scalar(test))
    case .place(let place): try append(Step.place(place))
    case .sequence(let parts): for part in parts { try append(part) }
    case .choice(let choices):
      var ends: [Int] = []
      for choice in choices.dropLast() {
        let fork = steps.count
        try append(.fork(fork + 1, 0))
        try append(choice)
        ends.append(steps.count)
        try append(.jump(0))
        steps[fork] = .fork(fork + 1, steps.count)
      }
      if let last = choices.last { try append(last) }
      for end in ends { steps[end] = .jump(steps.count) }
    case .repetition(let part, let minimum, let maximum):
      try append(part, minimum, maximum)
    }
  }

  private mutating func append(
    _ part: PatternSyntax, _ minimum: Int, _ maximum: Int?
  ) throws(PatternSyntax.Refusal) {
    for _ in 0..<minimum {
      let count = steps.count
      try append(part)
      // What has no steps has none the next time.
      if steps.count == count { break }
    }
    guard let maximum else {
      let fork = steps.count
      try append(.fork(fork + 1, 0))
      try append(part)
      try append(.jump(fork))
      steps[fork] = .fork(fork + 1, steps.count)
      return
    }
    for _ in minimum..<maximum {
      let fork = steps.count
      try append(.fork(fork + 1, 0))
      try append(part)
      steps[fork] = .fork(fork + 1, steps.count)
    }
  }
}

// MARK: - Matching

extension LinearPattern {
  /// The steps that are reached at a place of the text, each once.
  private struct Reached {
    var list: [Int] = []
    /// The steps whose followers were not added yet.
    var open: [Int] = []
    private var marks: [Int]
    private var mark = 0

    init(_ count: Int) { marks = [Int](repeating: 0, count: count) }

    mutating func clear() {
      list.removeAll(keepingCapacity: true)
      mark += 1
    }

    /// Adds a step; returns false if it is there.
    mutating func mark(_ step: Int) -> Bool {
      guard marks[step] != mark else { return false }
      marks[step] = mark
      return true
    }
  }

  /// Returns whether the expression matches a part of a text.
  func matches(_ text: String, _ clock: inout SelectorClock) throws(SelectorFailure) -> Bool {
    var reached = Reached(steps.count)
    var starts: [Int] = []
    var (previous, iterator) = (Unicode.Scalar?.none, text.unicodeScalars.makeIterator())
    while true {
      let next = iterator.next()
      reached.clear()
      starts.append(0)
      for start in starts where follow(start, previous, next, &reached) { return true }
      guard let next else { return false }
      try clock.step(1 + reached.list.count)
      starts.removeAll(keepingCapacity: true)
      for step in reached.list {
        if case .scalar(let test) = steps[step], test.accepts(next) { starts.append(step + 1) }
      }
      previous = next
    }
  }

  /// Adds the steps that a step leads to without a scalar; returns whether the match is one.
  private func follow(
    _ start: Int, _ previous: Unicode.Scalar?, _ next: Unicode.Scalar?, _ reached: inout Reached
  ) -> Bool {
    reached.open.append(start)
    while let step = reached.open.popLast() {
      guard reached.mark(step) else { continue }
      switch steps[step] {
      case .scalar: reached.list.append(step)
      case .place(let place): if place.isHere(previous, next) { reached.open.append(step + 1) }
      case .fork(let a, let b): reached.open.append(contentsOf: [a, b])
      case .jump(let target): reached.open.append(target)
      case .match: return true
      }
    }
    return false
  }
}

extension PatternSyntax.Place {
  fileprivate func isHere(_ previous: Unicode.Scalar?, _ next: Unicode.Scalar?) -> Bool {
    switch self {
    case .start: previous == nil
    case .end: next == nil
    case .wordBoundary: (previous?.isWord ?? false) != (next?.isWord ?? false)
    case .noWordBoundary: (previous?.isWord ?? false) == (next?.isWord ?? false)
    }
  }
}
