import DivanLog

/// The stored form of values: each value has exactly one, so that its digest identifies it.
///
/// A value begins with a tag. Integers are little-endian, and each has as few bytes as it can.
///
///     00…3F  an integer of 0…63
///     40…7F  a text of 0…63 bytes, which follow
///     80…8F  an integer of -1…-16
///     90…97  an integer above 63 in 1…8 bytes
///     98…9F  an integer below -16: -1 minus it in 1…8 bytes
///     A0     null        A1  false       A2  true
///     A3     -0.0
///     A4     a double that is exactly a 4-byte float, which follows
///     A5     a double of 8 bytes, which follow
///     A8…AB  a text; 1…4 bytes give its size
///     B0…B9  an array    C0…C9  an object    (containers, below)
///     D0…D6  a double that is a decimal d, in 1…7 bytes
///     D8…DE  … d / 10
///     E0…E6  … d / 100
///     E8…ED  … d × 10^e; one byte gives e (signed), 1…6 bytes give d
///     F0…F4  … d × 10^e; two bytes give e (signed), 1…5 bytes give d
///
/// A double takes the shortest of these forms, and of equally short ones the first in this order:
/// decimal, float, 8 bytes. See ``DecimalForm`` for d and e, which the double determines; d is
/// written as 2d, or as -2d - 1 if it is negative.
///
/// Containers, as an offset from B0 or C0:
///
///     0     empty
///     1…4   up to 16 elements; as many bytes give the size of what follows them
///     5     up to 16 elements, to the end of the bytes: the outermost container, and only that
///     6…9   more than 16 elements; 1…4 bytes give the size of what follows them, then comes the
///           number of elements (varint), then for the elements 16, 32, 48 … their offsets from the
///           first element, each as wide as the size, then the elements
///
/// An element of an object is the size of its key (varint), the key in UTF-8, and the value. Keys
/// are strictly ascending by their bytes.
///
/// An object has at most as many bytes as its compact JSON text. The only exception is long texts
/// in arrays: a text or an inner array above 255 bytes takes one byte more there, above 64 KiB two.
/// In most documents, the commas of the array and the braces and keys around it save as much.
enum ValueFormat {
  static let smallIntegerLimit: UInt64 = 64
  static let shortTextLimit = 64
  /// The maximum number of elements without a table, which has an offset for each so many.
  static let stride = 16

  enum Tag {
    static let shortText: UInt8 = 0x40
    static let smallNegative: UInt8 = 0x80
    static let positive: UInt8 = 0x90
    static let negative: UInt8 = 0x98
    static let null: UInt8 = 0xA0
    static let no: UInt8 = 0xA1
    static let yes: UInt8 = 0xA2
    static let negativeZero: UInt8 = 0xA3
    static let float: UInt8 = 0xA4
    static let double: UInt8 = 0xA5
    static let text: UInt8 = 0xA8
    static let array: UInt8 = 0xB0
    static let object: UInt8 = 0xC0
    static let decimal: UInt8 = 0xD0
    static let scaledDecimal: UInt8 = 0xE8
    static let farScaledDecimal: UInt8 = 0xF0
    /// Offsets from `array` and `object`.
    static let toTheEnd: UInt8 = 5
    static let table: UInt8 = 5
  }

  /// Returns the number of bytes that `number` needs: 1 to 8.
  @inline(__always)
  static func width(of number: UInt64) -> Int {
    max(1, (71 - number.leadingZeroBitCount) / 8)
  }

  /// Returns the little-endian integer of `width` (1 to 8) bytes at `offset`; nil past the end.
  @inline(__always)
  static func integer(_ bytes: Span<UInt8>, at offset: Int, width: Int) -> UInt64? {
    guard offset >= 0, offset <= bytes.count - width else { return nil }
    if offset <= bytes.count - 8 {
      return bytes.word(at: offset) & (~0 >> UInt64(64 - 8 * width))
    }
    var value: UInt64 = 0
    for index in 0..<width { value |= UInt64(bytes[offset + index]) << UInt64(8 * index) }
    return value
  }
}

// MARK: - Lookup

extension ValueFormat {
  /// A container's extent.
  struct Container {
    var isObject: Bool
    /// The offset of the first element.
    var start: Int
    /// The offset after the last element.
    var end: Int
    /// The number of elements, for a container with a table.
    var count: Int?
    /// The offset of the table, and the number of bytes of each of its offsets.
    var table = 0
    var width = 0
  }

  /// Returns the offset just after the value at `offset`, or nil if it does not end by `end`.
  ///
  /// Reads only sizes, and never enters a container.
  @inline(__always)
  static func skip(_ bytes: Span<UInt8>, at offset: Int, end: Int) -> Int? {
    guard offset < end else { return nil }
    let tag = bytes[offset]
    let next: Int
    switch form(ofTag: tag) {
    case .smallInteger, .smallNegative, .null, .no, .yes, .negativeZero, .emptyContainer:
      next = offset + 1
    case .shortText: next = offset + 1 + Int(tag & 0x3F)
    case .integer, .decimal: next = offset + 2 + Int(tag & 7)
    case .float: next = offset + 5
    case .double: next = offset + 9
    case .text: return skip(bytes, at: offset, sizeWidth: Int(tag & 3) + 1, end: end)
    case .container: return skip(bytes, at: offset, sizeWidth: Int(tag & 0xF), end: end)
    case .containerWithTable:
      return skip(bytes, at: offset, sizeWidth: Int(tag & 0xF) - 5, end: end)
    case .scaledDecimal: next = offset + 3 + Int(tag & 7)
    case .farScaledDecimal: next = offset + 4 + Int(tag & 7)
    case .containerToTheEnd, nil: return nil
    }
    return next <= end ? next : nil
  }

  @inline(__always)
  private static func skip(
    _ bytes: Span<UInt8>, at offset: Int, sizeWidth: Int, end: Int
  ) -> Int? {
    guard let size = integer(bytes, at: offset + 1, width: sizeWidth) else { return nil }
    // At most four bytes give the size, so it fits a 64-bit Int; on other machines it is checked.
    guard let size = Int(exactly: size), size <= end - offset - 1 - sizeWidth else { return nil }
    return offset + 1 + sizeWidth + size
  }

  /// Returns the container at `offset`, or nil if there is none that ends by `end`.
  static func container(_ bytes: Span<UInt8>, at offset: Int, end: Int) -> Container? {
    guard offset < end else { return nil }
    let tag = bytes[offset]
    guard tag & 0xF0 == Tag.array || tag & 0xF0 == Tag.object else { return nil }
    let isObject = tag & 0xF0 == Tag.object
    let form = Int(tag & 0xF)
    if form == Tag.toTheEnd {
      guard offset == 0, end == bytes.count else { return nil }
      return Container(isObject: isObject, start: 1, end: end)
    }
    guard let next = skip(bytes, at: offset, end: end) else { return nil }
    if form == 0 { return Container(isObject: isObject, start: next, end: next) }
    let width = form > Int(Tag.table) ? form - Int(Tag.table) : form
    let start = offset + 1 + width
    if form < Int(Tag.table) { return Container(isObject: isObject, start: start, end: next) }
    guard let (count, table) = varint(bytes, at: start, end: next) else { return nil }
    // An element has at least one byte, so the table of a valid count fits before `next`.
    guard count > stride, count <= next - table else { return nil }
    let tableSize = (count - 1) / stride * width
    guard tableSize <= next - table else { return nil }
    return Container(
      isObject: isObject, start: table + tableSize, end: next, count: count, table: table,
      width: width)
  }

  /// Returns a varint below 2^31 in its shortest form, and the offset after it.
  @inline(__always)
  static func varint(_ bytes: Span<UInt8>, at offset: Int, end: Int) -> (Int, Int)? {
    guard offset < end else { return nil }
    let first = bytes[offset]
    if first < 0x80 { return (Int(first), offset + 1) }
    var value = Int(first & 0x7F)
    var position = offset + 1
    var shift = 7
    while position < end, shift < 28 {
      let byte = bytes[position]
      position += 1
      value |= Int(byte & 0x7F) << shift
      if byte < 0x80 { return byte == 0 ? nil : (value, position) }
      shift += 7
    }
    return nil
  }

  /// The result of a search for an element.
  enum Found {
    case at(Int, end: Int)
    case missing
    case damaged
  }

  /// Finds the value of the property `key` of the object.
  static func property(
    _ key: Span<UInt8>, of object: Container, in bytes: Span<UInt8>
  ) -> Found {
    var position = object.start
    if let count = object.count {
      guard let start = startOfRun(with: key, of: object, count: count, in: bytes) else {
        return .damaged
      }
      position = start
    }
    // Most other keys of the same size begin with another byte.
    let firstByte = key.isEmpty ? 0 : key[0]
    var left = stride
    while position < object.end, left > 0 {
      var size = Int(bytes[position])
      var keyStart = position + 1
      if size >= 0x80 {
        guard let (longSize, start) = varint(bytes, at: position, end: object.end) else {
          return .damaged
        }
        (size, keyStart) = (longSize, start)
      }
      guard size < object.end - keyStart else { return .damaged }
      let valueStart = keyStart + size
      let isWanted =
        size == key.count && (size == 0 || bytes[keyStart] == firstByte)
        && areEqual(bytes, at: keyStart, key)
      let tag = bytes[valueStart]
      if tag < Tag.smallNegative, !isWanted {
        // Small integers and short texts, the most frequent values.
        position = valueStart + 1 + (tag < Tag.shortText ? 0 : Int(tag & 0x3F))
        guard position <= object.end else { return .damaged }
      } else {
        guard let end = skip(bytes, at: valueStart, end: object.end) else { return .damaged }
        if isWanted { return .at(valueStart, end: end) }
        position = end
      }
      left -= 1
    }
    return .missing
  }

  /// Finds the last run of elements that begins with a key not after this one; nil if damaged.
  private static func startOfRun(
    with key: Span<UInt8>, of object: Container, count: Int, in bytes: Span<UInt8>
  ) -> Int? {
    var low = 0
    var high = (count - 1) / stride
    while low < high {
      let middle = (low + high + 1) / 2
      guard let start = start(ofRun: middle, of: object, in: bytes),
        let (size, keyStart) = varint(bytes, at: start, end: object.end),
        size <= object.end - keyStart
      else { return nil }
      if compare(bytes.extracting(keyStart..<keyStart + size), key) <= 0 {
        low = middle
      } else {
        high = middle - 1
      }
    }
    return low > 0 ? start(ofRun: low, of: object, in: bytes) : object.start
  }

  /// Finds the element of the array at `index`, which is not negative.
  static func element(_ index: Int, of array: Container, in bytes: Span<UInt8>) -> Found {
    var position = array.start
    var left = index
    if let count = array.count {
      guard index < count else { return .missing }
      let run = index / stride
      if run > 0 {
        guard let start = start(ofRun: run, of: array, in: bytes) else { return .damaged }
        position = start
      }
      left = index % stride
    }
    while position < array.end {
      guard let end = skip(bytes, at: position, end: array.end) else { return .damaged }
      if left == 0 { return .at(position, end: end) }
      position = end
      left -= 1
    }
    return array.count == nil ? .missing : .damaged
  }

  /// Returns the offset of the element `run` × 16; `run` is between 1 and the number of offsets.
  static func start(ofRun run: Int, of container: Container, in bytes: Span<UInt8>) -> Int? {
    guard
      let offset = integer(
        bytes, at: container.table + (run - 1) * container.width, width: container.width),
      let offset = Int(exactly: offset), offset < container.end - container.start
    else { return nil }
    return container.start + offset
  }
}
