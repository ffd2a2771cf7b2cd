import DivanLog

/// The values of an entry in index keys: concatenated ``CollationKey`` bytes of limited size.
///
/// Strings are in the order of their UTF-8. The size is limited so that entries fit in an index
/// page. FILE_FORMAT.md §10
///
/// If all values together take more than ``cutSize`` bytes, they are cut off there, and a hash of
/// the rest follows. Such values are in order only up to the cut. They are equal if these bytes
/// are, except for a collision of SHA-256.
///
/// No value's bytes are a prefix of another's, and the same is true for sequences of equally many
/// values. So the rest of a key does not affect the order, and no two keys are the same.
struct IndexedValue: Hashable, Sendable {
  let bytes: [UInt8]

  /// The number of bytes that remain of cut-off values; shorter values are whole.
  static let cutSize = 168
  /// The size in bytes of cut-off values; all others are shorter.
  static let sizeLimit = cutSize + 32

  init(_ value: Value) { self.init(whole: IndexedValue.whole(value)) }

  /// Joins several values, the most significant first.
  init(joining values: [Value]) { self.init(whole: IndexedValue.whole(joining: values)) }

  /// Cuts off the bytes of one or several values if they are too long.
  init(whole: [UInt8]) {
    var writer = ByteWriter(capacity: whole.count)
    writer.append(whole)
    IndexedValue.cut(&writer, from: 0)
    bytes = writer.array
  }

  /// Cuts off the values in a key, which are the bytes from an offset to its end.
  static func cut(_ key: inout ByteWriter, from offset: Int) {
    let end = offset + cutSize
    guard key.count > end else { return }
    let digest = key.withSpan { SHA256.digest(of: $0.extracting(droppingFirst: end)) }
    key.truncate(to: end)
    key.append(digest.bytes)
  }

  /// Returns the complete bytes of a value.
  static func whole(_ value: Value) -> [UInt8] { CollationKey.bytes(of: value, .bytes) }

  /// Returns the complete bytes of several values.
  static func whole(joining values: [Value]) -> [UInt8] {
    var bytes: [UInt8] = []
    for value in values { bytes += whole(value) }
    return bytes
  }

  /// Returns the type tag that the bytes of a value begin with, without the lower half of the byte.
  static func type(of value: Value) -> UInt8 { CollationKey.tag(of: value) }

  /// Returns the common prefix of all strings that begin with `text`; nothing is cut off.
  static func prefix(ofTexts text: String) -> [UInt8] { CollationKey.prefix(ofTexts: text, .bytes) }
}
