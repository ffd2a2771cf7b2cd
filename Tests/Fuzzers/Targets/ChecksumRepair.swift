import DivanLog

/// Repairs the checksums of a file after its bytes were changed.
///
/// So the fuzzer reaches the code that runs after checksums are verified.
package struct ChecksumRepair {
  package enum FileKind: Sendable { case segment, checkpoint, view, head }

  /// Whether to also repair other values that a reader compares first.
  ///
  /// These are counts of frames, commit numbers in their order, sizes of files, and the first bytes
  /// of keys.
  package var isDeep = true
  /// Leaves the checksums of about one in `gap` frames wrong; none if it is 0.
  package var gap = 0
  private var frameCount = 0

  package init(isDeep: Bool = true, gap: Int = 0) {
    self.isDeep = isDeep
    self.gap = gap
  }

  package mutating func repair(_ bytes: inout [UInt8], as kind: FileKind) {
    switch kind {
    case .head:
      finishHeader(&bytes, size: Head.size, kind: 3)
    case .segment:
      repairSegment(&bytes)
    case .checkpoint:
      repairCheckpoint(&bytes)
    case .view:
      repairView(&bytes)
    }
  }

  private func finishHeader(_ bytes: inout [UInt8], size: Int, kind: UInt32) {
    guard bytes.count >= size else { return }
    bytes.replaceSubrange(0..<8, with: [0x89, 0x44, 0x49, 0x56, 0x0D, 0x0A, 0x1A, 0x0A])
    if isDeep {
      bytes.store(1 as UInt16, at: 8)
      bytes.store(kind, at: 12)
      bytes.store(0 as UInt64, at: 16)
    }
    bytes.store(bytes.checksum(0..<size - 4), at: size - 4)
  }

  // MARK: Segments

  private mutating func repairSegment(_ bytes: inout [UInt8]) {
    guard bytes.count >= SegmentHeader.size else { return }
    let salt = bytes.load(UInt64.self, at: 40)
    var chain = bytes.checksum(0..<64)
    var commit = bytes.load(UInt64.self, at: 104)
    var partCount: UInt32 = 0
    var isSync = true
    var position = SegmentHeader.size
    while let frame = FramePlace(bytes, at: position) {
      guard frame.isWhole else {
        isSync = false
        position += 8
        continue
      }
      RecordPlace.forEach(in: bytes, of: frame) { $0.repair(&bytes) }
      if isDeep, frame.kind == 1 {
        if frame.isFirst {
          commit &+= 1
          partCount = 0
        }
        partCount += 1
        bytes.store(commit, at: position + 16)
        if frame.isLast, frame.payloadSize >= CommitTrailer.size {
          bytes.store(partCount, at: frame.payload.upperBound - CommitTrailer.size)
        }
      }
      if isSync { bytes.store(chain, at: position + 24) }
      finish(frame, &bytes, salt: salt)
      chain = bytes.checksum(position..<position + 32)
      position = frame.end
    }
    if isDeep, bytes.load(UInt32.self, at: 92) & 1 != 0 {
      bytes.store(UInt64(bytes.count), at: 184)
    }
    finishHeader(&bytes, size: SegmentHeader.size, kind: 1)
  }

  private mutating func finish(_ frame: FramePlace, _ bytes: inout [UInt8], salt: UInt64) {
    frameCount += 1
    if gap > 0, frameCount % gap == 0 { return }
    bytes.store(bytes.checksum(frame.payload.lowerBound..<frame.end), at: frame.offset + 12)
    var check = CRC32C()
    check.add(salt)
    check.add(UInt64(frame.offset))
    bytes.store(
      bytes.checksum(frame.offset..<frame.offset + 28, continuing: check.checksum),
      at: frame.offset + 28)
  }

  // MARK: Checkpoints

  private mutating func repairCheckpoint(_ bytes: inout [UInt8]) {
    guard bytes.count >= CheckpointHeader.size else { return }
    let salt = bytes.load(UInt64.self, at: 40)
    if isDeep {
      let pageCount = min(
        bytes.load(UInt64.self, at: 72), UInt64(bytes.count / CheckpointHeader.pageFrameSize - 1))
      bytes.store(pageCount, at: 72)
      let directory = CheckpointHeader.offset(ofPage: UInt32(pageCount))
      bytes.store(UInt64((bytes.count - directory) & ~7), at: 80)
      if bytes.count - directory >= 40, !FramePlace.hasMagic(bytes, at: directory) {
        bytes.store(0x4D52_4676 as UInt32, at: directory)
        bytes.store(6 as UInt32, at: directory + 4)
      }
      if let frame = FramePlace(bytes, at: directory), frame.offset == directory {
        let padded = (bytes.count - directory) & ~7 - 32
        if frame.payloadSize > padded || frame.payloadSize + 7 < padded {
          bytes.store(UInt32(max(0, padded)), at: directory + 8)
        }
      }
    }
    var position = CheckpointHeader.size
    while let frame = FramePlace(bytes, at: position) {
      guard frame.isWhole else {
        position += 8
        continue
      }
      if isDeep, frame.kind == 5 { PageRepair.repair(&bytes, frame.payload) }
      finish(frame, &bytes, salt: salt)
      position = frame.end
    }
    finishHeader(&bytes, size: CheckpointHeader.size, kind: 2)
  }
}

// MARK: Views

extension ChecksumRepair {
  private mutating func repairView(_ bytes: inout [UInt8]) {
    guard bytes.count >= ViewFileHeader.size else { return }
    let salt = bytes.load(UInt64.self, at: 40)
    if isDeep { finishHeader(&bytes, size: ViewFileHeader.size, kind: 4) }
    let commit = bytes.load(UInt64.self, at: 64)
    var chain = bytes.checksum(0..<64)
    var count: UInt64 = 0
    var position = ViewFileHeader.size
    while let frame = FramePlace(bytes, at: position), frame.isWhole {
      if isDeep {
        bytes[frame.offset + 4] = count == 0 ? 6 : 5
        bytes[frame.offset + 5] = 0
        bytes.store(commit, at: frame.offset + 16)
      }
      bytes.store(chain, at: frame.offset + 24)
      finish(frame, &bytes, salt: salt)
      chain = bytes.checksum(frame.offset..<frame.offset + 32)
      count += 1
      position = frame.end
    }
    if isDeep {
      bytes.store(count, at: 112)
      bytes.store(UInt64(bytes.count), at: 120)
    }
    finishHeader(&bytes, size: ViewFileHeader.size, kind: 4)
  }
}

/// A position with bytes that begin like a frame.
package struct FramePlace: Sendable {
  package let offset: Int
  package let kind: UInt8
  package let flags: UInt8
  package let payloadSize: Int
  /// Whether the frame ends within the file.
  package let isWhole: Bool

  /// Finds the first frame from `start` on.
  package init?(_ bytes: [UInt8], at start: Int) {
    var position = start
    while position + 32 <= bytes.count, !FramePlace.hasMagic(bytes, at: position) { position += 8 }
    guard position + 32 <= bytes.count else { return nil }
    offset = position
    kind = bytes[position + 4]
    flags = bytes[position + 5]
    payloadSize = Int(bytes.load(UInt32.self, at: position + 8))
    isWhole =
      payloadSize <= FrameHeader.payloadSizeLimit
      && FrameHeader.padded(payloadSize) <= bytes.count - position - 32
  }

  static func hasMagic(_ bytes: [UInt8], at offset: Int) -> Bool {
    bytes[offset] == 0x76 && bytes[offset + 1] == 0x46 && bytes[offset + 2] == 0x52
      && bytes[offset + 3] == 0x4D
  }

  package var isFirst: Bool { flags & 1 != 0 }
  package var isLast: Bool { flags & 2 != 0 }
  package var payload: Range<Int> { offset + 32..<offset + 32 + payloadSize }
  package var end: Int { offset + 32 + FrameHeader.padded(payloadSize) }
}

/// A position with bytes that begin like a record.
package struct RecordPlace: Sendable {
  package let offset: Int
  /// The range from the checksum on.
  package let content: Range<Int>

  /// Calls `body` with each record of a sequence of them.
  package static func forEach(
    in bytes: [UInt8], _ range: Range<Int>, _ body: (RecordPlace) -> Void
  ) {
    var position = range.lowerBound
    while position < range.upperBound {
      var size = 0
      var start = position
      var shift = 0
      while start < range.upperBound, shift < 28 {
        let byte = bytes[start]
        start += 1
        size |= Int(byte & 0x7F) << shift
        shift += 7
        if byte < 0x80 { break }
      }
      guard size >= 5, size <= range.upperBound - start else { return }
      body(RecordPlace(offset: position, content: start..<start + size))
      position = start + size
    }
  }

  /// Calls `body` with each record in a frame's payload.
  package static func forEach(
    in bytes: [UInt8], of frame: FramePlace, _ body: (RecordPlace) -> Void
  ) {
    guard frame.isWhole, frame.kind == 1 || frame.kind == 3 else { return }
    let hasTrailer = frame.kind == 1 && frame.isLast && frame.payloadSize >= CommitTrailer.size
    let end = frame.payload.upperBound - (hasTrailer ? CommitTrailer.size : 0)
    forEach(in: bytes, frame.payload.lowerBound..<end, body)
  }

  package func repair(_ bytes: inout [UInt8]) {
    let checksum = bytes.checksum(
      content.dropFirst(4), continuing: UInt32(truncatingIfNeeded: content.count))
    bytes.store(checksum, at: content.lowerBound)
  }
}

extension [UInt8] {
  func load<T: FixedWidthInteger>(_: T.Type, at offset: Int) -> T {
    var value: T = 0
    for index in (0..<MemoryLayout<T>.size).reversed() {
      value = value << 8 | T(truncatingIfNeeded: self[offset + index])
    }
    return value
  }

  mutating func store<T: FixedWidthInteger>(_ value: T, at offset: Int) {
    for index in 0..<MemoryLayout<T>.size {
      self[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index))
    }
  }

  func checksum(_ range: Range<Int>, continuing checksum: UInt32 = 0) -> UInt32 {
    var check = CRC32C(continuing: checksum)
    // The bytes are only read, within the closure that provides them.
    unsafe withUnsafeBytes { unsafe check.add(UnsafeRawBufferPointer(rebasing: $0[range])) }
    return check.checksum
  }
}
