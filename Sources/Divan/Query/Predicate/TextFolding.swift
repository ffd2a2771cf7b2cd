@_spi(_Unicode) import Swift

/// Converts a text to UTF-8 without ignored differences, in time linear in its size.
///
/// Scalars are decomposed one by one. Decomposing a whole text would sort the marks after a letter,
/// in time quadratic in their number.
struct TextFolding {
  private let ignored: TextDifferences
  private var bytes: [UInt8] = []
  /// The marks after a letter that have a combining class, until the next letter.
  private var marks: [(order: UInt8, scalar: Unicode.Scalar)] = []

  init(_ ignored: TextDifferences) { self.ignored = ignored }
}

extension TextFolding {
  mutating func append(_ scalar: Unicode.Scalar) {
    guard ignored.contains(.diacritics) else { return fold(scalar) }
    // No scalar below this is composed, or a mark.
    guard scalar.value >= 0xC0 else { return add(scalar, order: 0) }
    for part in String(scalar)._nfd {
      let properties = part.properties
      guard properties.generalCategory != .nonspacingMark else { continue }
      add(part, order: properties.canonicalCombiningClass.rawValue)
    }
  }

  mutating func finish() -> [UInt8] {
    foldMarks()
    return bytes
  }

  private mutating func add(_ scalar: Unicode.Scalar, order: UInt8) {
    guard order == 0 else { return marks.append((order, scalar)) }
    if !marks.isEmpty { foldMarks() }
    fold(scalar)
  }

  private mutating func foldMarks() {
    // The sort is stable, as the canonical order is.
    for mark in marks.sorted(by: { $0.order < $1.order }) { fold(mark.scalar) }
    marks.removeAll(keepingCapacity: true)
  }

  private mutating func fold(_ scalar: Unicode.Scalar) {
    guard ignored.contains(.letterCase) else { return write(scalar) }
    guard scalar.value >= 0x80 else {
      let byte = UInt8(truncatingIfNeeded: scalar.value)
      return bytes.append(byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte)
    }
    // By way of capitals, so that letters with two small forms are equal, too.
    for capital in scalar.properties.uppercaseMapping.unicodeScalars {
      for small in capital.properties.lowercaseMapping.unicodeScalars { write(small) }
    }
  }

  private mutating func write(_ scalar: Unicode.Scalar) {
    if let encoded = Unicode.UTF8.encode(scalar) { bytes.append(contentsOf: encoded) }
  }
}
