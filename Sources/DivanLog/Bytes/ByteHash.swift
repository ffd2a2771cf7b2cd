extension Span<UInt8> {
  /// A hash of the bytes for tables in memory, seeded per process: never store it.
  ///
  /// Takes a few instructions for eight bytes, where the standard library's hash takes hundreds for
  /// a short text. Each step multiplies, and folds the halves of the product onto each other.
  /// Collisions cannot be constructed without the process's seeds. There is no protection beyond
  /// that.
  @inlinable
  package var quickHash: UInt64 {
    let key = QuickHashKey.ofProcess
    var hash = key.start ^ UInt64(count)
    var index = 0
    while count - index >= 8 {
      hash = key.folding(hash ^ word(at: index))
      index += 8
    }
    var rest: UInt64 = 0
    while index < count {
      rest = rest << 8 | UInt64(self[index])
      index += 1
    }
    return key.folding(hash ^ rest)
  }
}

/// The random seeds of a process's hashes.
@usableFromInline
struct QuickHashKey: Sendable {
  @usableFromInline let start = UInt64.random(in: 0 ... .max)
  /// Odd, so that no two numbers have the same product.
  @usableFromInline let factor = UInt64.random(in: 0 ... .max) | 1

  @usableFromInline static let ofProcess = QuickHashKey()

  @inlinable
  func folding(_ number: UInt64) -> UInt64 {
    let product = number.multipliedFullWidth(by: factor)
    return product.high ^ product.low
  }
}
