extension ValueFormat {
  /// The form of a stored value, which its tag gives.
  enum Form {
    case smallInteger, smallNegative, integer
    case shortText, text
    case null, no, yes
    case negativeZero, float, double, decimal, scaledDecimal, farScaledDecimal
    /// An array or an object.
    case emptyContainer, container, containerToTheEnd, containerWithTable
  }

  /// Returns the form of the values that begin with a tag; nil if none does.
  ///
  /// This is the only list of the ranges of tags. Code that reads values switches over their forms,
  /// so the compiler reports where a new form is missing. Inlined, the two switches become one.
  @inline(__always)
  static func form(ofTag tag: UInt8) -> Form? {
    switch tag {
    case 0x00...0x3F: .smallInteger
    case 0x40...0x7F: .shortText
    case 0x80...0x8F: .smallNegative
    case 0x90...0x9F: .integer
    case Tag.null: .null
    case Tag.no: .no
    case Tag.yes: .yes
    case Tag.negativeZero: .negativeZero
    case Tag.float: .float
    case Tag.double: .double
    case 0xA8...0xAB: .text
    case 0xB0, 0xC0: .emptyContainer
    case 0xB1...0xB4, 0xC1...0xC4: .container
    case 0xB5, 0xC5: .containerToTheEnd
    case 0xB6...0xB9, 0xC6...0xC9: .containerWithTable
    case 0xD0...0xD6, 0xD8...0xDE, 0xE0...0xE6: .decimal
    case 0xE8...0xED: .scaledDecimal
    case 0xF0...0xF4: .farScaledDecimal
    default: nil
    }
  }

  /// Returns the kind of the values that begin with a tag; nil if none does.
  @inline(__always)
  static func kind(ofTag tag: UInt8) -> EncodedValue.Kind? {
    switch form(ofTag: tag) {
    case .smallInteger, .smallNegative, .integer: .integer
    case .shortText, .text: .string
    case .null: .null
    case .no, .yes: .bool
    case .negativeZero, .float, .double, .decimal, .scaledDecimal, .farScaledDecimal: .double
    case .emptyContainer, .container, .containerToTheEnd, .containerWithTable:
      tag < Tag.object ? .array : .object
    case nil: nil
    }
  }
}
