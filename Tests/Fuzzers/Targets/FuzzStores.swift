import Divan
import DivanLog
import ProofKit

/// Opens stores in which some or all files are the input.
enum FuzzStores {
  // MARK: One segment

  static func readSegment(_ input: [UInt8], isThorough: Bool) throws {
    let numbers = segmentNumbers(input)
    let name = FileName.segment(numbers).description
    let files = ByteFiles([name: input])
    let directory = StoreDirectory(ByteFiles.directory, on: files)
    let file: SegmentFile?
    do throws(LogError) {
      file = try SegmentFile(numbers, in: directory)
    } catch .system(let error) {
      throw FuzzFinding("bytes in memory fail like a disk: \(error)")
    } catch {
      file = nil
    }
    if let file {
      for mapped in [SharedBytes(copying: input), .empty] {
        try readSegment(file, mapped: mapped, size: input.count)
      }
    }
    try readFiles(files, input, isThorough)
  }

  /// Returns the numbers in the header, so that it matches the file's name.
  private static func segmentNumbers(_ input: [UInt8]) -> ClosedRange<UInt64> {
    guard input.count >= 88 else { return 1...1 }
    let bytes = SharedBytes(copying: input)
    let first = bytes.load(UInt64.self, at: 72)
    let last = bytes.load(UInt64.self, at: 80)
    return first >= 1 && first <= last && last <= counterLimit ? first...last : 1...1
  }

  /// Runs each step of reading a segment separately.
  private static func readSegment(_ file: SegmentFile, mapped: SharedBytes, size: Int) throws {
    let end = LogEnd(offset: UInt64(size), commit: 0, chain: 0)
    var segment = Segment(file: file, mapped: mapped, end: end)
    if file.header.compaction == nil {
      let recovery = try LogRecovery.examine(segment, from: nil, watermarks: [])
      try expect(recovery.end.offset <= UInt64(size), "the log ends behind the file")
      try expect(
        recovery.proven.offset <= recovery.end.offset
          && recovery.proven.commit <= recovery.end.commit, "more is proven than can be read")
      let readable = try LogRecovery.readableEnd(of: segment, size: size, from: nil)
      try expect(
        readable.offset >= recovery.end.offset && readable.commit >= recovery.end.commit,
        "less is readable than counts")
      segment.end = readable
    }
    var scan = RecordScan(segment)
    var lastOffset: UInt64 = 0
    var itemCount = 0
    reading: while true {
      itemCount += 1
      try expect(itemCount <= size, "reading does not end")
      switch try scan.next() {
      case .record(let entry):
        try expect(entry.locator.offset > lastOffset, "records are not in their order")
        lastOffset = entry.locator.offset
        let again = try segment.record(at: entry.locator)
        try expect(
          again.kind == entry.record.kind && again.payload == entry.record.payload,
          "a record is another one by itself")
        if entry.record.kind == .document { try FuzzValues.readDocument(entry.record.payload) }
      case .commit(let end, _):
        try expect(end.offset <= UInt64(size), "a commit behind the end")
      case .damage: continue
      case .end: break reading
      }
    }
  }

  // MARK: One checkpoint

  /// Replaces the newest checkpoint of a store; the first byte selects the store.
  static func readCheckpoint(_ input: [UInt8], isThorough: Bool) throws {
    guard let first = input.first, !checkpointed.isEmpty else { return }
    let base = checkpointed[Int(first) % checkpointed.count]
    var files = base.files
    files[base.checkpoint] = SharedBytes(copying: Array(input.dropFirst()))
    let disk = ByteFiles(files)
    let directory = StoreDirectory(ByteFiles.directory, on: disk)
    let names = Set(files.keys.compactMap { FileName($0) })
    if case .checkpoint(let number) = FileName(base.checkpoint) {
      do throws(LogError) {
        if let checkpoint = try InspectedCheckpoint(number, among: names, in: directory) {
          if isThorough || input.count % 4 == 0 { _ = try checkpoint.differences() }
        }
      } catch .system(let error) {
        throw FuzzFinding("bytes in memory fail like a disk: \(error)")
      } catch {}
    }
    try readFiles(disk, input, isThorough)
  }

  /// Golden stores with a checkpoint, and its name; large ones are excluded because they take long.
  static let checkpointed: [(files: [String: SharedBytes], checkpoint: String)] =
    FuzzSeeds.stores.compactMap { store in
      guard store.files.values.allSatisfy({ $0.count < 200 << 10 }) else { return nil }
      let newest = store.files.keys.filter { $0.hasSuffix(".checkpoint") }.max()
      return newest.map { (store.files.mapValues { SharedBytes(copying: $0) }, $0) }
    }

  // MARK: A whole store

  static func readStore(_ input: [UInt8], isThorough: Bool) throws {
    var files: [String: [UInt8]] = [:]
    for file in PackedStore.unpack(input) { files[file.name] = file.bytes }
    try readFiles(ByteFiles(files), input, isThorough)
  }

  /// Opens files as a store and reads everything.
  ///
  /// One time in four it also reads in the other way, checks the store, and continues with it as a
  /// writer; with `isThorough`, it does so every time.
  private static func readFiles(_ files: ByteFiles, _ input: [UInt8], _ isThorough: Bool) throws {
    // The input determines the steps, so that a repeated run is the same.
    let plan = input.checksum(0..<input.count)
    func isDue(_ shift: UInt32) -> Bool { isThorough || plan >> shift & 3 == 0 }
    let isWriting = isDue(4)
    let reads: ReadMode = plan & 1 == 0 ? .mapped : .buffered
    let reading = try StoreReading(files, reads, isChecked: isWriting || isDue(6))
    if isDue(2) {
      let other = try StoreReading(
        files, reads == .mapped ? .buffered : .mapped, isChecked: reading.isChecked)
      try expect(other == reading, "mapped reading differs from buffered:\n\(other)\n\(reading)")
    }
    if isWriting { try StoreWriting(files.files).goOn(from: reading) }
  }
}
