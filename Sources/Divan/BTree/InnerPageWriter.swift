internal import DivanLog

/// Writes the inner pages of a run: packs page numbers and separators, from the bottom up.
///
/// It keeps one page for each level. When the next child does not fit, the page goes to the sink,
/// and its number to the level above. So the same children with the same separators make the same
/// pages: ``Run/rebuildInnerPages()`` relies on it.
struct InnerPageWriter {
  private let pageSize: Int
  private let sink: (Span<UInt8>) throws(LogError) -> UInt32
  /// The pages that are being filled, from level 1 on.
  private var levels: [Level] = []

  /// The page of one level.
  private struct Level {
    let buffer: PageBuffer
    /// The separator between the page and its left neighbour; nil for the first page.
    var separator: [UInt8]?
  }

  /// Begins the pages above leaves.
  ///
  /// - Parameters:
  ///   - pageSize: the size of each page in bytes.
  ///   - sink: writes one page, and returns its number.
  init(pageSize: Int, sink: @escaping (Span<UInt8>) throws(LogError) -> UInt32) {
    self.pageSize = pageSize
    self.sink = sink
  }
}

extension InnerPageWriter {
  /// Whether no leaf was added.
  var isEmpty: Bool { levels.isEmpty }

  /// Adds the next leaf, with the separator between it and its left neighbour; nil for the first.
  mutating func append(leaf number: UInt32, separator: [UInt8]?) throws(LogError) {
    try append(number, separator, toLevelAt: 0)
  }

  /// Writes the remaining pages, and returns the root and its level.
  ///
  /// - Precondition: there are two leaves at least.
  mutating func finish() throws(LogError) -> (root: UInt32, height: Int) {
    var index = 0
    while index < levels.count - 1 {
      try flush(index)
      index += 1
    }
    return (try levels[index].buffer.withSpan(sink), levels.count)
  }

  private mutating func append(
    _ child: UInt32, _ separator: [UInt8]?, toLevelAt index: Int
  ) throws(LogError) {
    guard index < levels.count, let separator else {
      // The first page of its level is the first child of the level above.
      let buffer = PageBuffer(size: pageSize)
      buffer.clear(level: index + 1)
      buffer.writer.setFirstChild(child)
      levels.append(Level(buffer: buffer, separator: nil))
      return
    }
    let buffer = levels[index].buffer
    if !separator.borrow({ buffer.append($0, child: child) }) {
      try flush(index)
      levels[index].separator = separator
      buffer.writer.setFirstChild(child)
    }
  }

  /// Writes a page, adds it to the level above, and begins the next page.
  private mutating func flush(_ index: Int) throws(LogError) {
    let level = levels[index]
    let number = try level.buffer.withSpan(sink)
    level.buffer.clear(level: index + 1)
    try append(number, level.separator, toLevelAt: index + 1)
  }
}
