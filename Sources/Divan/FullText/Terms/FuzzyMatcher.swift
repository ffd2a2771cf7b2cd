/// Finds the terms within an edit distance of a word among sorted terms.
///
/// The distance is Levenshtein's: the number of scalars to insert, remove or replace. The matcher
/// keeps a row of the distance table for each scalar of the current term, and terms that begin
/// alike share their rows. A row has only the cells within the allowed distance of the diagonal. So
/// a term takes time proportional to the scalars that it does not share with the one before it.
///
/// When a term's beginning rules out all terms that begin alike, ``skippablePrefix`` says so, and
/// the reader can move past them.
struct FuzzyMatcher {
  /// The greatest distance that can be asked for.
  static let distanceLimit = 2

  private let word: [UInt32]
  private let maxDistance: Int
  /// Whether a longer term matches if its beginning does.
  private let isPrefix: Bool

  private var term: [UInt32] = []
  /// The rows, each with ``width`` cells: cell `c` of row `r` is for the column
  /// `c + r − maxDistance`.
  private var rows: [UInt8] = []
  private let width: Int
  private let beyond: UInt8
  private var next: [UInt32] = []
  /// The number of scalars of the current term that have a row.
  private var depth = 0
  private var isDead = false
  /// For prefixes: the least distance of the word from a beginning of each length.
  private var best: [UInt8] = []

  /// Creates a matcher of terms, or of their beginnings, within at most ``distanceLimit``.
  init(_ word: [UInt8], maxDistance: Int, isPrefix: Bool = false) {
    self.word = word.scalars
    let maxDistance = min(max(maxDistance, 0), FuzzyMatcher.distanceLimit)
    (self.maxDistance, self.isPrefix) = (maxDistance, isPrefix)
    (width, beyond) = (2 * maxDistance + 1, UInt8(maxDistance + 1))
    for cell in 0..<width {
      let column = cell - maxDistance
      rows.append(column < 0 || column > self.word.count ? beyond : UInt8(column))
    }
    best = [distanceAtDepth]
  }

  /// Returns the distance of a term, or nil if it is greater than allowed.
  ///
  /// Terms may come in any order; those in the order of their bytes share the most work.
  mutating func distance(of bytes: [UInt8]) -> Int? {
    next.removeAll(keepingCapacity: true)
    bytes.appendScalars(to: &next)
    var shared = 0
    while shared < min(depth, next.count), term[shared] == next[shared] { shared += 1 }
    swap(&term, &next)
    isDead = false
    depth = shared
    while depth < term.count {
      guard appendRow() else {
        isDead = true
        break
      }
    }
    let found = isPrefix ? best[depth] : isDead ? beyond : distanceAtDepth
    return found <= maxDistance ? Int(found) : nil
  }

  /// The beginning of the last term, in UTF-8, if no term that begins so can match.
  var skippablePrefix: [UInt8]? {
    guard isDead, !isPrefix || best[depth] > maxDistance else { return nil }
    var prefix: [UInt8] = []
    for scalar in term[...depth] { prefix.append(scalar: scalar) }
    return prefix
  }

  /// The distance of the word from the first ``depth`` scalars of the term.
  private var distanceAtDepth: UInt8 {
    let cell = word.count - depth + maxDistance
    return cell >= 0 && cell < width ? rows[depth * width + cell] : beyond
  }

  /// Computes the row of the next scalar, and returns whether any longer term can match.
  private mutating func appendRow() -> Bool {
    let scalar = term[depth]
    let above = depth * width
    let row = above + width
    let length = depth + 1
    rows.removeSubrange(row...)
    var least = beyond
    for cell in 0..<width {
      let column = cell + length - maxDistance
      var distance = beyond
      if column == 0 {
        distance = UInt8(length)
      } else if column > 0, column <= word.count {
        let replaced = rows[above + cell] + (word[column - 1] == scalar ? 0 : 1)
        let removed = cell + 1 < width ? rows[above + cell + 1] + 1 : beyond
        let inserted = cell > 0 ? rows[row + cell - 1] + 1 : beyond
        distance = min(min(replaced, removed), min(inserted, beyond))
      }
      rows.append(distance)
      least = min(least, distance)
    }
    guard least <= maxDistance else { return false }
    depth += 1
    best.removeSubrange(depth...)
    best.append(min(best[depth - 1], distanceAtDepth))
    return true
  }
}

extension [UInt8] {
  /// Appends the scalars of the text in UTF-8.
  func appendScalars(to scalars: inout [UInt32]) {
    var offset = 0
    while offset < count {
      let read = scalar(at: offset)
      scalars.append(read.value)
      offset = read.end
    }
  }

  /// The scalars of the text in UTF-8.
  var scalars: [UInt32] {
    var scalars: [UInt32] = []
    appendScalars(to: &scalars)
    return scalars
  }

  /// The least bytes that come after all bytes with this prefix; nil if there are none.
  var afterPrefix: [UInt8]? {
    guard let last = lastIndex(where: { $0 < 0xFF }) else { return nil }
    var next = Array(self[...last])
    next[last] += 1
    return next
  }
}
