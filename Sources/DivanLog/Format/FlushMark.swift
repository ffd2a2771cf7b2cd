/// A mark in the file `FLUSHED`, which says up to where the log was flushed.
///
/// The file has up to three marks. Each is true on its own, and the one with the highest commit
/// says the most. One mark stays whole while another is written, and the flushed one stays whole
/// while the others are not flushed. Marks are evidence, and never needed to open a store.
/// FILE_FORMAT.md §20
package struct FlushMark: Equatable, Sendable {
  /// It has the salt and the time of the segment.
  package var preamble: FilePreamble
  /// The last number of the segment.
  package var segmentNumber: UInt64
  /// The end of the flushed log in that segment.
  package var end: LogEnd

  package init(preamble: FilePreamble, segmentNumber: UInt64, end: LogEnd) {
    self.preamble = preamble
    self.segmentNumber = segmentNumber
    self.end = end
  }

  package static let size = 256
  /// The offsets of the marks, so far apart that no sector or block of 4 KiB contains two.
  package static let offsets = [0, 4096, 8192]
  package static let fileSize = 8192 + size
}

extension FlushMark {
  package func encode() -> SharedBytes {
    var writer = ByteWriter(capacity: FlushMark.size)
    preamble.encode(to: &writer)
    writer.append(segmentNumber)
    writer.append(0 as UInt64)
    end.encode(to: &writer)
    FilePreamble.finish(&writer, size: FlushMark.size)
    return writer.sharedCopy
  }

  /// Whether a block is all zeros: the mark was not written yet, or was lost with the power.
  package static func isBlank(_ block: SharedBytes) -> Bool { block.array.allSatisfy { $0 == 0 } }

  package static func decode(_ block: SharedBytes, path: String) throws(LogError) -> FlushMark {
    let preamble = try FilePreamble.decode(block: block, kind: .flushed, path: path)
    guard block.count == size else {
      throw .damaged(Damage(path: path, offset: 0, reason: "a mark in FLUSHED has a wrong size"))
    }
    for offset in [64, 80, 88] where block.load(UInt64.self, at: offset) > counterLimit {
      throw .damaged(
        Damage(path: path, offset: offset, reason: "a number exceeds the limit of counters"))
    }
    return FlushMark(
      preamble: preamble, segmentNumber: block.load(UInt64.self, at: 64),
      end: LogEnd.decode(block, at: 80))
  }
}
