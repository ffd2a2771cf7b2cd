extension CRC32C {
  /// Combines the checksums of two adjacent runs of bytes, without reading the bytes.
  ///
  /// The checksum of `A` followed by `B` is the checksum of `A`, advanced by as many zero bytes as
  /// `B` has, exclusive-or the checksum of `B`: the conditioning at both ends cancels out.
  /// Advancing a checksum is linear over single bits. An advance is therefore described by the
  /// image of each of the 32 bits, and applying a description to itself doubles the distance.
  package struct Joint: Sendable {
    /// The image of each bit of a checksum, the lowest first.
    private var images: [UInt32]

    /// Prepares to combine checksums of which the second covers `secondCount` bytes.
    ///
    /// Takes time in proportion to the number of binary digits of `secondCount`.
    package init(secondCount: Int) {
      precondition(secondCount >= 0, "The number of bytes is negative")
      images = (0..<32).map { 1 << UInt32($0) }
      var step = Joint.oneByte
      var count = secondCount
      while count > 0 {
        if count & 1 == 1 { images = images.map { Joint.moved($0, by: step) } }
        step = step.map { Joint.moved($0, by: step) }
        count >>= 1
      }
    }

    /// Returns the checksum of the bytes of `first` followed by the bytes of `second`.
    package func joined(_ first: UInt32, _ second: UInt32) -> UInt32 {
      Joint.moved(first, by: images) ^ second
    }

    private static let oneByte: [UInt32] = (0..<32).map { bit in
      var crc = 1 << UInt32(bit) as UInt32
      for _ in 0..<8 { crc = (crc >> 1) ^ (crc & 1 == 0 ? 0 : 0x82F6_3B78) }
      return crc
    }

    private static func moved(_ checksum: UInt32, by images: [UInt32]) -> UInt32 {
      var rest = checksum
      var moved: UInt32 = 0
      while rest != 0 {
        moved ^= images[rest.trailingZeroBitCount]
        rest &= rest &- 1
      }
      return moved
    }
  }

  package mutating func add(_ bytes: Span<UInt8>) {
    unsafe bytes.withUnsafeBytes { unsafe add($0) }
  }
}
