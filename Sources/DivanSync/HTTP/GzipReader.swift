package import Foundation

/// Reads the content of a gzip body (RFC 1952) as it arrives.
///
/// CouchDB sends compressed attachments so. The last 32 KiB of the content and a piece of the body
/// are in memory, however much the content grows.
package final class GzipReader {
  private let nextInput: () async throws -> Data?
  private var inflater = Inflater()
  private var header = GzipHeader()
  private var isAtEnd = false
  private var checksum = CRC32()
  private var length: UInt32 = 0

  /// Creates a reader.
  ///
  /// - Parameter nextInput: Returns the next piece of the body; nil at its end.
  package init(_ nextInput: @escaping () async throws -> Data?) { self.nextInput = nextInput }

  /// Returns the next piece of the content; nil at its end.
  ///
  /// - Throws: ``ReplicationError`` with the code `invalidAnswer` if it is not gzip, or does not
  ///   have its checksum.
  package func nextPiece() async throws -> Data? {
    while !isAtEnd {
      if header.isComplete {
        let output = try inflater.next()
        if !output.isEmpty {
          checksum.add(output)
          length &+= UInt32(truncatingIfNeeded: output.count)
          return Data(output)
        }
        if inflater.isAtEnd {
          try await readTrailer()
          break
        }
      }
      guard let piece = try await nextInput() else { throw Inflater.invalid("it ends too early") }
      let rest = try header.add(piece)
      inflater.add(rest)
    }
    return nil
  }

  /// Reads the checksum and the length, after which nothing may follow.
  private func readTrailer() async throws {
    while inflater.unreadBytes.count < 8 {
      guard let piece = try await nextInput() else { throw Inflater.invalid("it ends too early") }
      inflater.add(Array(piece))
    }
    let bytes = inflater.unreadBytes
    func word(_ offset: Int) -> UInt32 {
      (0..<4).reduce(0) { $0 | UInt32(bytes[bytes.startIndex + offset + $1]) << (8 * UInt32($1)) }
    }
    guard word(0) == checksum.value, word(4) == length else {
      throw Inflater.invalid("its content does not have its checksum")
    }
    guard bytes.count == 8, try await nextInput() == nil else {
      throw Inflater.invalid("bytes follow its end")
    }
    isAtEnd = true
  }
}

/// The bytes before the compressed content.
private struct GzipHeader {
  private var bytes: [UInt8] = []
  private(set) var isComplete = false

  /// The size of a file name and a comment at most.
  private static let sizeLimit = 1 << 16

  /// Adds bytes, and returns those after the header.
  mutating func add(_ piece: Data) throws -> [UInt8] {
    guard !isComplete else { return Array(piece) }
    bytes += piece
    guard let end = try end() else {
      guard bytes.count <= Self.sizeLimit else { throw Inflater.invalid("its header is too long") }
      return []
    }
    isComplete = true
    return Array(bytes[end...])
  }

  /// The offset after the header; nil if more bytes are needed.
  private func end() throws -> Int? {
    for (byte, expected) in zip(bytes, [0x1F, 0x8B, 8] as [UInt8]) where byte != expected {
      throw Inflater.invalid("it does not begin as gzip")
    }
    guard bytes.count >= 12 else { return nil }
    let flags = bytes[3]
    guard flags & 0xE0 == 0 else { throw Inflater.invalid("its header has unknown flags") }
    var offset = 10
    if flags & 4 != 0 { offset += 2 + Int(bytes[10]) + Int(bytes[11]) << 8 }
    // A name and a comment, each with a zero at its end.
    for flag in [8, 16] as [UInt8] where flags & flag != 0 {
      guard offset < bytes.count, let zero = bytes[offset...].firstIndex(of: 0) else { return nil }
      offset = zero + 1
    }
    if flags & 2 != 0 { offset += 2 }
    return offset <= bytes.count ? offset : nil
  }
}

/// The checksum of gzip (RFC 1952, section 8).
private struct CRC32 {
  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { crc, _ in crc & 1 == 0 ? crc >> 1 : crc >> 1 ^ 0xEDB8_8320 }
  }

  private var state: UInt32 = 0xFFFF_FFFF

  var value: UInt32 { ~state }

  mutating func add(_ bytes: [UInt8]) {
    let table = Self.table
    for byte in bytes { state = table[Int((state ^ UInt32(byte)) & 0xFF)] ^ state >> 8 }
  }
}
