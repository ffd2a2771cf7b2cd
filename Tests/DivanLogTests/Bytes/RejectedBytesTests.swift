import DivanLog
import DivanTesting
import TestSupport
import Testing

/// Tests of bytes with valid checksums that no writer produces.
///
/// Each decoder reports the error and its offset.
@Suite struct RejectedBytesTests {
  private func reader(_ bytes: [UInt8]) -> ByteReader { ByteReader(SharedBytes(copying: bytes)) }

  private func error(_ body: () throws -> Void) -> ByteError? {
    do {
      try body()
      return nil
    } catch {
      return error as? ByteError
    }
  }

  @Test func `reading past the end of bytes throws an error with the offset and does not advance`()
  {
    var cursor = reader([0x80, 0x80])
    #expect(error { _ = try cursor.readVarint() } == ByteError(offset: 0, reason: tooEarly))
    #expect(error { _ = try cursor.read(UInt32.self) } == ByteError(offset: 0, reason: tooEarly))
    #expect(error { _ = try cursor.readBytes(3) } == ByteError(offset: 0, reason: tooEarly))
    #expect(error { _ = try cursor.readBytes(2) } == nil)
    #expect(error { _ = try cursor.readVarint() } == ByteError(offset: 2, reason: tooEarly))
    #expect(cursor.isAtEnd)
  }

  private var tooEarly: String { "the bytes end too early" }

  @Test func `a varint of any size is decoded the same, whatever bytes follow`() throws {
    let rests: [[UInt8]] = [
      [], [0xFF], Array(repeating: 0xFF, count: 9), Array(repeating: 0, count: 9),
    ]
    for bit in 0..<64 {
      let power = UInt64(1) << UInt64(bit)
      for number in [power - 1, power, power | 0x55] {
        var writer = ByteWriter()
        writer.appendVarint(number)
        let bytes = writer.array
        for rest in rests {
          var reader = ByteReader(SharedBytes(copying: bytes + rest))
          #expect(try reader.readVarint() == number && reader.offset == bytes.count)
        }
        // A shortened encoding, and one with a redundant additional group.
        var short = ByteReader(SharedBytes(copying: Array(bytes.dropLast())))
        #expect(error { _ = try short.readVarint() } != nil && short.offset == 0)
        guard bytes.count < 9 else { continue }
        let padded = bytes.dropLast() + [bytes[bytes.count - 1] | 0x80, 0]
        for rest in rests {
          var reader = ByteReader(SharedBytes(copying: padded + rest))
          #expect(error { _ = try reader.readVarint() }?.reason.contains("shortest form") == true)
          #expect(reader.offset == 0)
        }
      }
    }
  }

  @Test func `a varint has one encoding and at most 64 bits`() throws {
    var largest = reader([UInt8](repeating: 0xFF, count: 9) + [1])
    #expect(try largest.readVarint() == .max)
    var tooLarge = reader([UInt8](repeating: 0xFF, count: 9) + [2])
    #expect(error { _ = try tooLarge.readVarint() }?.reason == "a number has more than 64 bits")
    var tooLong = reader([0x81, 0])
    #expect(error { _ = try tooLong.readVarint() }?.reason.contains("shortest form") == true)
    var aboveLimit = reader([9])
    #expect(error { _ = try aboveLimit.readCount(limit: 8) }?.reason.contains("limit of 8") == true)
  }

  // MARK: Headers

  private func damage(_ body: () throws -> Void) -> Damage? {
    do {
      try body()
      return nil
    } catch LogError.damaged(let damage) {
      return damage
    } catch {
      return nil
    }
  }

  @Test func `a segment header with a wrong size or impossible numbers is refused`() {
    let sound = ForgedSegment().header.encode()
    #expect(damage { _ = try SegmentHeader.decode(sound, path: "s") } == nil)
    let short = rechecksummed(sound.prefix(200)) { _ in }
    #expect(damage { _ = try SegmentHeader.decode(short, path: "s") }?.offset == 0)
    for (first, last) in [(0, 1), (2, 1)] as [(UInt64, UInt64)] {
      let changed = rechecksummed(sound) {
        put(first, in: &$0, at: 72)
        put(last, in: &$0, at: 80)
      }
      #expect(damage { _ = try SegmentHeader.decode(changed, path: "s") }?.offset == 72)
    }
    for offset in [64, 96, 104, 120, 128, 136] {
      let changed = rechecksummed(sound) { put(counterLimit + 1, in: &$0, at: offset) }
      #expect(damage { _ = try SegmentHeader.decode(changed, path: "s") }?.offset == offset)
    }
  }

  @Test func `a view header with a wrong size or impossible numbers is refused`() {
    let sound = ViewFileHeader(
      preamble: FilePreamble(
        kind: .view, storeID: StoreID(high: 1, low: 1), salt: 1, createdAt: 0),
      origin: .init(commit: 1, sequence: 1, segmentNumber: 1, segmentSalt: 1), collation: 1,
      rowCount: 1, frameCount: 1, fileSize: 4096
    ).encode()
    #expect(damage { _ = try ViewFileHeader.decode(sound, path: "v") } == nil)
    let short = rechecksummed(sound.prefix(70)) { _ in }
    #expect(damage { _ = try ViewFileHeader.decode(short, path: "v") }?.offset == 0)
    for offset in [64, 72, 80, 104, 112, 120] {
      let changed = rechecksummed(sound) { put(counterLimit + 1, in: &$0, at: offset) }
      #expect(damage { _ = try ViewFileHeader.decode(changed, path: "v") }?.offset == offset)
    }
  }

  @Test func `a HEAD with a wrong size or impossible numbers is refused`() {
    let sound = Head(
      preamble: FilePreamble(
        kind: .head, storeID: StoreID(high: 1, low: 1), salt: 1, createdAt: 0),
      segmentNumber: 1, segmentSalt: 1, watermark: LogEnd(offset: 4096, commit: 0, chain: 0),
      lastSequence: 0, sequenceBound: 0, isClosed: false
    ).encode()
    #expect(damage { _ = try Head.decode(sound, path: "HEAD") } == nil)
    for size in [100, 300] {
      let bytes = sound.array + [UInt8](repeating: 0, count: 300)
      let other = rechecksummed(SharedBytes(copying: Array(bytes[..<size]))) { _ in }
      #expect(damage { _ = try Head.decode(other, path: "HEAD") }?.reason.contains("size") == true)
    }
    for offset in [64, 80, 88, 104, 112] {
      let changed = rechecksummed(sound) { put(.max, in: &$0, at: offset) }
      #expect(damage { _ = try Head.decode(changed, path: "HEAD") }?.offset == offset)
    }
  }

  @Test func `a checkpoint header with a wrong size or too many pages is refused`() {
    let sound = CheckpointHeader(
      preamble: FilePreamble(
        kind: .checkpoint, storeID: StoreID(high: 1, low: 1), salt: 1, createdAt: 0),
      number: 1, pageCount: 1, directorySize: 0
    ).encode()
    #expect(damage { _ = try CheckpointHeader.decode(sound, path: "c") } == nil)
    let short = rechecksummed(sound.prefix(200)) { _ in }
    #expect(damage { _ = try CheckpointHeader.decode(short, path: "c") } != nil)
    let crowded = rechecksummed(sound) { put(1 << 32, in: &$0, at: 72) }
    #expect(damage { _ = try CheckpointHeader.decode(crowded, path: "c") } != nil)
  }

  @Test func `a truncated trailer, or one with impossible numbers, is refused`() {
    let sound = ForgedSegment.trailer(lastSequence: 7)
    #expect(CommitTrailer.decode(endOf: SharedBytes(copying: sound))?.lastSequence == 7)
    #expect(CommitTrailer.decode(endOf: SharedBytes(copying: Array(sound.dropFirst()))) == nil)
    for offset in stride(from: 8, to: CommitTrailer.size, by: 8) {
      var changed = sound
      put(counterLimit + 1, in: &changed, at: offset)
      #expect(CommitTrailer.decode(endOf: SharedBytes(copying: changed)) == nil)
    }
  }

  @Test func `file names of a store are accepted only in their canonical form`() {
    for name in ["LOCK", "HEAD", "RESERVE", "tmp", "attachments", "0000000042.segment"] {
      #expect(FileName(name)?.description == name)
    }
    for name in [
      "head", "0000000001.segment.segment", "0000000001", "0000000001.page", "1.segment",
      "0000000002-0000000001.segment", "0000000001-0000000001.segment", "-0000000001.segment",
      "0000000001-0000000002.checkpoint", "0000000000.checkpoint", "x.checkpoint",
      "1152921504606846977.checkpoint",
    ] {
      #expect(FileName(name) == nil, "\(name)")
    }
  }
}
