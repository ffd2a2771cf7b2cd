/// Sixteen random bytes that identify a store.
package struct StoreID: Hashable, Sendable, CustomStringConvertible {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Thirty-two lower-case hexadecimal digits.
  package var description: String { hexadecimal(high) + hexadecimal(low) }
}

/// Sixteen lower-case hexadecimal digits.
package func hexadecimal(_ number: UInt64) -> String {
  let digits = String(number, radix: 16)
  return String(repeating: "0", count: 16 - digits.count) + digits
}
