/// A segment that is open for reading, as it was when this value was created.
///
/// Copies share the file. A segment that is still appended to gets a new description as it grows;
/// an older description stays true.
package struct Segment: Sendable {
  package let file: SegmentFile
  /// The first bytes of the file as memory; empty if the file is not mapped.
  package let mapped: SharedBytes
  /// The end of the last transaction that counts.
  package var end: LogEnd

  package init(file: SegmentFile, mapped: SharedBytes, end: LogEnd) {
    self.file = file
    self.mapped = mapped
    self.end = end
  }

  /// Creates a segment of which only what was found to count may be read as memory.
  ///
  /// A writer in another process may replace the bytes after `end`, which are zeros.
  package init(_ segment: Segment, through end: LogEnd) {
    let mapped = segment.mapped.prefix(min(segment.mapped.count, Int(clamping: end.offset)))
    self.init(file: segment.file, mapped: mapped, end: end)
  }

  /// The limit of the zeros after the end of a segment that is appended to, in bytes.
  ///
  /// They are room for some forty small transactions, and readers look through them each time.
  package static let preallocationLimit = 16 << 10

  package var header: SegmentHeader { file.header }
  package var fileID: UInt64 { file.header.fileID }
}

/// A segment's file with its header.
package final class SegmentFile: Sendable {
  package let name: FileName
  package let path: String
  package let header: SegmentHeader
  /// The chain value that the first frame carries.
  package let headerChain: UInt32
  package let file: any OpenFile
  /// The encryption of the records; nil if the store is not encrypted.
  package let encryption: FileEncryption?

  package init(
    name: FileName, path: String, header: SegmentHeader, headerChain: UInt32,
    file: any OpenFile, encryption: FileEncryption?
  ) {
    self.name = name
    self.path = path
    self.header = header
    self.headerChain = headerChain
    self.file = file
    self.encryption = encryption
  }

  /// Opens a segment and reads its header.
  package convenience init(
    _ numbers: ClosedRange<UInt64>, in directory: StoreDirectory
  ) throws(LogError) {
    let name = FileName.segment(numbers)
    let path = directory.path(of: name)
    let file = try attempt { () throws(SystemError) in
      try directory.fileSystem.open(path, .readingOwn)
    }
    let block = try attempt { () throws(SystemError) in try file.read(SegmentHeader.size, at: 0) }
    let header = try SegmentHeader.decode(block, path: path)
    guard header.numbers == numbers else {
      throw .damaged(
        Damage(path: path, offset: 72, reason: "the header is of a segment with another name"))
    }
    self.init(
      name: name, path: path, header: header, headerChain: SegmentHeader.chain(of: block),
      file: file, encryption: try directory.encryption(header.preamble, path: path))
  }

  /// Opens a segment; nil if it is missing, or if its header is damaged or is on a bad sector.
  ///
  /// Throws if a later opening may read it: with another key, version, permission, or with more
  /// descriptors or memory. What depends on the segment must not be deleted for that.
  static func ifReadable(
    _ numbers: ClosedRange<UInt64>, in directory: StoreDirectory
  ) throws(LogError) -> SegmentFile? {
    do throws(LogError) {
      return try SegmentFile(numbers, in: directory)
    } catch .damaged, .foreign {
      return nil
    } catch .system(let error) where [.notFound, .inputOutput].contains(error.code) {
      return nil
    }
  }

  package func size() throws(LogError) -> Int {
    try attempt { () throws(SystemError) in try file.size() }
  }
}

extension Segment {
  /// Returns `count` bytes from `offset` on; fewer only at the end of the file.
  package func bytes(_ count: Int, at offset: Int) throws(LogError) -> SharedBytes {
    if let slice = mapped.slice(offset, count) { return slice }
    return try attempt { () throws(SystemError) in try file.file.read(count, at: offset) }
  }

  /// Returns the same bytes, read into memory of their own.
  package func readBytes(_ count: Int, at offset: Int) throws(LogError) -> SharedBytes {
    try attempt { () throws(SystemError) in try file.file.read(count, at: offset) }
  }

  /// Returns the range of bytes after `end` in a file of `size` bytes; nil if there are none.
  ///
  /// The zeros at the end of the file that a writer may have written ahead are not in it.
  /// FILE_FORMAT.md §3
  package func bytes(after end: LogEnd, size: Int) throws(LogError) -> Range<Int>? {
    let start = Int(clamping: end.offset)
    guard start < size else { return nil }
    let begin = max(start, size - Segment.preallocationLimit)
    let bytes = try readBytes(size - begin, at: begin)
    let count = bytes.withSpan { (bytes) in
      var count = bytes.count
      while count > 0, bytes[count - 1] == 0 { count -= 1 }
      return count
    }
    return start < begin + count ? start..<begin + count : nil
  }

  /// Whether a writer has begun to append a transaction after ``end``.
  package func isGrown() throws(LogError) -> Bool {
    let next = try readBytes(FrameHeader.size, at: Int(clamping: end.offset))
    return next.withSpan { (bytes) in bytes.indices.contains { bytes[$0] != 0 } }
  }

  /// Returns the first offset from `offset` on where nonzero bytes may be; nil if there is none.
  package func dataOffset(from offset: Int) throws(LogError) -> Int? {
    try attempt { () throws(SystemError) in try file.file.dataOffset(from: offset) }
  }

  /// Returns the bytes of the record at a location, not checked yet.
  package func recordBytes(at locator: RecordLocator) throws(LogError) -> SharedBytes {
    // A locator comes from an index page, which was checked; the size still bounds the allocation.
    guard let offset = Int(exactly: locator.offset), locator.size <= Record.sizeLimit else {
      throw .damaged(
        Damage(path: file.path, offset: 0, reason: "the record's locator is outside the file"))
    }
    let bytes = try bytes(Int(locator.size), at: offset)
    guard bytes.count == Int(locator.size) else {
      throw .damaged(Damage(path: file.path, offset: offset, reason: "the file ends too early"))
    }
    return bytes
  }

  /// Returns the record at a location, checked against its checksum.
  package func record(at locator: RecordLocator) throws(LogError) -> Record {
    let bytes = try recordBytes(at: locator)
    do throws(ByteError) {
      let found = try bytes.withSpan { (bytes) throws(ByteError) in try Record.checkWhole(bytes) }
      let payload = try bytes.suffix(from: found.payload.lowerBound)
        .opened(.record(kind: found.kind.rawValue), by: file.encryption)
      return Record(kind: found.kind, payload: payload)
    } catch {
      throw .damaged(
        Damage(
          path: file.path, offset: Int(clamping: locator.offset), size: bytes.count,
          reason: error.reason))
    }
  }
}
