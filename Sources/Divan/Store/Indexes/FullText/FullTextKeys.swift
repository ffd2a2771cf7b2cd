import DivanLog

/// The keys of a full-text index in ``Version/texts``.
///
/// Each begins with the index's number and the letter of a table. FILE_FORMAT.md §10
///
/// | letter | key | value |
/// |---|---|---|
/// | `f` | | ``FullTextFigures`` |
/// | `i` | a document's ID | its number |
/// | `l` | a number divided by ``lengthsPerBlock`` | ``TextLengths`` of that many documents |
/// | `n` | a number | the document's ID |
/// | `t` | a term, zero, and the first number of a block | a ``PostingsBlock`` |
///
/// Numbers in keys are big-endian, with eight bytes. A term has no zero byte, so terms are in the
/// order of their bytes, and the blocks of each in the order of their documents.
struct FullTextKeys: Sendable {
  /// The letter of a table.
  enum Table: UInt8 {
    case figures = 0x66
    case numbers = 0x69
    case lengths = 0x6C
    case ids = 0x6E
    case terms = 0x74
  }

  /// The number of documents whose lengths are in one value.
  static let lengthsPerBlock: UInt64 = 64
  /// The size of the index's number, in bytes.
  static let prefixSize = 8

  /// The index's number, which all keys begin with.
  let prefix: [UInt8]

  init(_ indexNumber: UInt64) { prefix = indexNumber.bigEndianBytes }

  var figures: [UInt8] { start(of: .figures) }
  func number(of id: SharedBytes) -> [UInt8] { start(of: .numbers) + id.array }
  func id(of number: UInt64) -> [UInt8] { start(of: .ids) + number.bigEndianBytes }

  func lengths(of number: UInt64) -> [UInt8] {
    start(of: .lengths) + (number / FullTextKeys.lengthsPerBlock).bigEndianBytes
  }

  /// The start of all keys of a table.
  func start(of table: Table) -> [UInt8] {
    var key: [UInt8] = []
    key.reserveCapacity(48)
    key += prefix
    key.append(table.rawValue)
    return key
  }

  /// The start of the keys of a term's blocks.
  func blocks(of term: [UInt8]) -> [UInt8] { start(of: .terms) + term + [0] }

  /// Returns the number of the index that a key belongs to; nil if it is too short for one.
  static func indexNumber(of key: SharedBytes) -> UInt64? {
    key.count < prefixSize ? nil : UInt64(bigEndian: key.load(UInt64.self, at: 0))
  }
}

extension FullTextKeys {
  /// The key of a block of postings, taken apart.
  struct BlockKey {
    let term: [UInt8]
    /// The first number of the block.
    let first: UInt64
  }

  /// Takes the key of a block apart; nil if it is the key of a further part of a value.
  ///
  /// - Throws: `ByteError` if it is no key of a term.
  static func block(_ key: [UInt8]) throws(ByteError) -> BlockKey? {
    let start = prefixSize + 1
    guard key.count > start, let zero = key[start...].firstIndex(of: 0) else {
      throw ByteError(offset: 0, reason: "the key of a term has no end")
    }
    guard let first = try firstNumber(key.span, at: zero + 1) else { return nil }
    return BlockKey(term: Array(key[start..<zero]), first: first)
  }

  /// Returns the first number of a block, which begins at an offset of its key; nil if it is the
  /// key of a further part of a value.
  ///
  /// - Throws: `ByteError` if the key ends too early or too late.
  static func firstNumber(
    _ key: Span<UInt8>, at offset: Int
  ) throws(ByteError) -> UInt64? {
    let size = key.count - offset
    if size == 8 + TextValue.partNumberSize { return nil }
    guard size == 8 else {
      throw ByteError(offset: offset, reason: "the key of a block has a wrong size")
    }
    var end = offset
    return try key.read(UInt64.self, at: &end).byteSwapped
  }
}
