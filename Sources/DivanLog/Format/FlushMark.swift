/// What the file `FLUSHED` says up to three times: through which place the log was flushed.
///
/// Each mark is true by itself, and the one with the highest commit says most. One stays whole while another
/// one is written, and the one that was flushed while the others are not. It is evidence, and never needed to
/// open a store. FILE_FORMAT.md §20
package struct FlushMark: Equatable, Sendable {
  /// Its salt and its time are those of the segment.
  package var preamble: FilePreamble
  /// The last number of the segment.
  package var segmentNumber: UInt64
  /// A place in that segment; the log was flushed up to there.
  package var end: LogEnd

  package init(preamble: FilePreamble, segmentNumber: UInt64, end: LogEnd) {
    self.preamble = preamble
    self.segmentNumber = segmentNumber
    self.end = end
  }

  package static let size = 256
  /// Where the marks begin: so far from each other that no sector, page or block holds two.
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

  /// Of zeros: the place of a mark that was not written yet, as in a file that lost its bytes with the power.
  package static func isBlank(_ block: SharedBytes) -> Bool { block.array.allSatisfy { $0 == 0 } }

  package static func decode(_ block: SharedBytes, path: String) throws(LogError) -> FlushMark {
    let preamble = try FilePreamble.decode(block: block, kind: .flushed, path: path)
    guard block.count == size else {
      throw .damaged(Damage(path: path, offset: 0, reason: "a mark of FLUSHED has the wrong size"))
    }
    for offset in [64, 80, 88] where block.load(UInt64.self, at: offset) > counterLimit {
      throw .damaged(Damage(path: path, offset: offset, reason: "a number beyond all limits"))
    }
    return FlushMark(
      preamble: preamble, segmentNumber: block.load(UInt64.self, at: 64),
      end: LogEnd.decode(block, at: 80))
  }
}
