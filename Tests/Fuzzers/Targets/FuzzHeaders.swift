import Divan
import DivanLog

/// Reads `HEAD`, a mark of `FLUSHED`, the headers of files, frames and trailers, and names.
enum FuzzHeaders {
  static func read(_ input: [UInt8]) throws {
    let bytes = SharedBytes(copying: input)
    if let head = try decoded({ () throws(LogError) in try Head.decode(bytes, path: "HEAD") }) {
      try expect(
        (try? Head.decode(head.encode(), path: "HEAD")) == head, "HEAD is written differently")
      for number in [
        head.segmentNumber, head.watermark.offset, head.watermark.commit, head.lastSequence,
      ] {
        try expect(number <= counterLimit, "a number beyond all limits")
      }
    }
    if let mark = try decoded({ () throws(LogError) in
      try FlushMark.decode(bytes, path: "FLUSHED")
    }) {
      try expect(
        (try? FlushMark.decode(mark.encode(), path: "FLUSHED")) == mark,
        "a mark of FLUSHED is written differently")
    }
    if let header = try decoded({ () throws(LogError) in
      try SegmentHeader.decode(bytes, path: "segment")
    }) {
      try expect(
        (try? SegmentHeader.decode(header.encode(), path: "segment")) == header,
        "a segment's header is written differently")
    }
    if let header = try decoded({ () throws(LogError) in
      try CheckpointHeader.decode(bytes, path: "checkpoint")
    }) {
      try expect(
        (try? CheckpointHeader.decode(header.encode(), path: "checkpoint")) == header,
        "a checkpoint's header is written differently")
    }
    if let header = try decoded({ () throws(LogError) in
      try ViewFileHeader.decode(bytes, path: "view")
    }) {
      try expect(
        (try? ViewFileHeader.decode(header.encode(), path: "view")) == header,
        "the header of a view's file is written differently")
    }
    if let frame = FrameHeader.decode(bytes, offset: 4096, salt: 0) {
      try expect(frame.payloadSize <= FrameHeader.payloadSizeLimit, "a payload beyond the limit")
      try expect(frame.frameSize % FrameHeader.alignment == 0, "a frame that is not aligned")
    }
    if let trailer = CommitTrailer.decode(endOf: bytes) {
      var writer = ByteWriter()
      trailer.encode(to: &writer)
      try expect(
        writer.array == Array(input.suffix(CommitTrailer.size)), "a trailer is written differently")
    }
    let text = String(decoding: input.prefix(100), as: UTF8.self)
    if let name = FileName(text) {
      try expect(name.description == text, "a file has two names")
    }
  }

  /// Returns the decoded value, or nil if it was rejected with a valid error.
  private static func decoded<T>(_ body: () throws(LogError) -> T) throws -> T? {
    do throws(LogError) {
      return try body()
    } catch .system(let error) {
      throw FuzzFinding("bytes in memory fail like a disk: \(error)")
    } catch {
      return nil
    }
  }
}
