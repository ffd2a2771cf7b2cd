import DivanLog

/// The values of an entry as keys of indexes have them: the bytes of ``CollationKey`` one behind the other, with texts
/// in the order of their UTF-8, and not longer than a page of an index can hold. FILE_FORMAT.md §10
///
/// What would take more than ``cutSize`` bytes, of all values together, is cut there, and a hash of the rest follows: such
/// values are in their order only as far as they are not cut, and equal if these bytes are, but for the odds of a
/// collision of SHA-256.
///
/// No value's bytes begin with all bytes of another one, and so it is with those of as many values, so that whatever
/// stands behind them in a key makes no difference to the order, and no two keys are the same.
struct IndexedValue: Hashable, Sendable {
  let bytes: [UInt8]
  /// Whether something was cut off.
  let isCut: Bool

  /// How much of a value stays that is cut; what is not longer is whole.
  static let cutSize = 168
  /// The size in bytes of what was cut; everything else is shorter.
  static let sizeLimit = cutSize + 32

  init(_ value: Value) { self.init(whole: IndexedValue.whole(value)) }

  /// Several values, the one that decides about the order first.
  init(joining values: [Value]) { self.init(whole: IndexedValue.whole(joining: values)) }

  /// Cuts the bytes of one value or of several.
  init(whole: [UInt8]) {
    isCut = whole.count > IndexedValue.cutSize
    var writer = ByteWriter(capacity: whole.count)
    writer.append(whole)
    IndexedValue.cut(&writer, from: 0)
    bytes = writer.array
  }

  /// Cuts the bytes of all values of a key, which begin at an offset and go to the end.
  static func cut(_ key: inout ByteWriter, from offset: Int) {
    let end = offset + cutSize
    guard key.count > end else { return }
    let digest = key.withSpan { SHA256.digest(of: $0.extracting(droppingFirst: end)) }
    key.truncate(to: end)
    key.append(digest.bytes)
  }

  /// The bytes of a value of which nothing is cut off.
  static func whole(_ value: Value) -> [UInt8] { CollationKey.bytes(of: value, .bytes) }

  /// The same of several values.
  static func whole(joining values: [Value]) -> [UInt8] {
    var bytes: [UInt8] = []
    for value in values { bytes += whole(value) }
    return bytes
  }

  /// What the bytes of all values of a value's type begin with, the lower half of the byte left out.
  static func type(of value: Value) -> UInt8 { CollationKey.tag(of: value) }

  /// The bytes with which all texts begin that begin with a text, without its end; nothing is cut off.
  static func prefix(ofTexts text: String) -> [UInt8] { CollationKey.prefix(ofTexts: text, .bytes) }
}
