import DivanLog

/// A value as keys of indexes have it: the bytes of ``CollationKey``, with texts in the order of their UTF-8, and not
/// longer than a page of an index can hold. FILE_FORMAT.md §10
///
/// What would take more than ``cutSize`` bytes is cut there, and a hash of the rest follows: such values are in
/// their order only as far as they are not cut, and equal if these bytes are, but for the odds of a
/// collision of SHA-256.
///
/// No value's bytes begin with all bytes of another one, so that whatever stands behind them in a key
/// makes no difference to the order, and no two keys are the same.
struct IndexedValue: Hashable, Sendable {
  let bytes: [UInt8]
  /// Whether something was cut off.
  let isCut: Bool

  /// How much of a value stays that is cut; what is not longer is whole.
  static let cutSize = 168
  /// The size in bytes of what was cut; everything else is shorter.
  static let sizeLimit = cutSize + 32

  init(_ value: Value) {
    let whole = IndexedValue.whole(value)
    isCut = whole.count > IndexedValue.cutSize
    if isCut {
      let rest = SharedBytes(copying: Array(whole[IndexedValue.cutSize...]))
      bytes = whole.prefix(IndexedValue.cutSize) + SHA256.digest(of: rest).bytes
    } else {
      bytes = whole
    }
  }

  /// The bytes of a value of which nothing is cut off.
  static func whole(_ value: Value) -> [UInt8] { CollationKey.bytes(of: value, .bytes) }

  /// What the bytes of all values of a value's type begin with, the lower half of the byte left out.
  static func type(of value: Value) -> UInt8 { CollationKey.tag(of: value) }

  /// The bytes with which all texts begin that begin with a text, as far as they are not cut; without its end.
  static func prefix(ofTexts text: String) -> [UInt8] {
    Array(CollationKey.prefix(ofTexts: text, .bytes).prefix(IndexedValue.cutSize))
  }

  /// How many bytes that would be, if nothing were cut.
  static func prefixSize(ofTexts text: String) -> Int {
    CollationKey.prefix(ofTexts: text, .bytes).count
  }
}
