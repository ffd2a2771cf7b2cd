import DivanLog
import DivanTesting
import Synchronization

import Divan

/// Damage that frames, records and headers must withstand.
extension RuleCase {
  static let frames: [RuleCase] = [
    RuleCase(name: "a flipped bit in a closed log is detected, even in padding", isLong: true) {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.commit(database, [.put("a", size: 1)])
      try fixture.commit(database, [.put("b", size: 2), .put("a", size: 4)])
      try database.close()
      let name = "0000000001.segment"
      let end = Int(try require(try fixture.segmentEnds(of: name).last, "end").offset)
      let disk = fixture.fileSystem.restarted(.processEnd)
      for offset in SegmentHeader.size..<end {
        for bit in 0..<8 where (offset + bit) % 3 == 0 || offset > end - 24 {
          try disk.corrupt(fixture.path(of: name), atOffset: offset, mask: 1 << UInt8(bit))
          let damage = try RuleCase.damage(disk, fixture, offset + bit)
          try expect(damage, "bit \(bit) of byte \(offset)")
          try disk.corrupt(fixture.path(of: name), atOffset: offset, mask: 1 << UInt8(bit))
        }
      }
    },
    RuleCase(name: "a flipped bit in a segment's header or HEAD is detected", isLong: true) {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.commit(database, [.put("a", size: 1)])
      try database.close()
      let disk = fixture.fileSystem.restarted(.processEnd)
      let path = fixture.path(of: "0000000001.segment")
      for offset in Array(0..<260) + Array(4080..<4096) {
        try disk.corrupt(path, atOffset: offset, mask: 1 << UInt8(offset % 8))
        do {
          let opened = try CrashFixture(disk, fixture.writer, life: offset).open {
            $0.isReadOnly = true
          }
          try expect(!opened.openingReport.damage.isEmpty, "byte \(offset)")
        } catch let error as DatabaseError {
          try expect([.damaged, .newerFormat, .notAStore].contains(error.code), "\(error)")
        }
        try disk.corrupt(path, atOffset: offset, mask: 1 << UInt8(offset % 8))
      }
      let head = fixture.path(of: "HEAD")
      for offset in 0..<256 {
        try disk.corrupt(head, atOffset: offset, mask: 1 << UInt8(offset % 8))
        let found = try? fixture.restarted(disk, offset).directory.head()
        try expect(found?.head == nil, "byte \(offset) of HEAD")
        try disk.corrupt(head, atOffset: offset, mask: 1 << UInt8(offset % 8))
      }
    },
    RuleCase(name: "a flipped bit in a compacted segment or a checkpoint is detected", isLong: true)
    {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<5, size: 40)
      try fixture.fill(database, 0..<3, size: 4)
      try database.close()
      let later = try fixture.openQuiet()
      try later.compact()
      try later.close()
      let disk = fixture.fileSystem.restarted(.processEnd)
      let merged = try require(fixture.segmentNames.first, "segment")
      let header = try SegmentFile(1...1, in: StoreDirectory(CrashFixture.path, on: disk)).header
      try expect(header.compaction != nil, "the segment was not compacted")
      let size = try disk.status(fixture.path(of: merged)).size
      for offset in SegmentHeader.size..<size {
        try disk.corrupt(fixture.path(of: merged), atOffset: offset, mask: 1 << UInt8(offset % 8))
        let opened = try CrashFixture(disk, fixture.writer, life: offset).open {
          $0.isReadOnly = true
        }
        let isSeen =
          try !opened.openingReport.damage.isEmpty || !opened.check().isSound
        try expect(isSeen, "byte \(offset) of \(merged)")
        try disk.corrupt(fixture.path(of: merged), atOffset: offset, mask: 1 << UInt8(offset % 8))
      }
      let name = try require(
        disk.names(in: CrashFixture.path).first { $0.hasSuffix(".checkpoint") }, "checkpoint")
      let file = try CheckpointFile.open(
        try require(UInt64(name.prefix { $0 != "." }), "number"),
        in: StoreDirectory(CrashFixture.path, on: disk), isMapped: false)
      for page in 0..<file.header.pageCount {
        for offset in stride(from: 0, to: 4096, by: 17) {
          let place = CheckpointHeader.offset(ofPage: page) + offset
          try disk.corrupt(fixture.path(of: name), atOffset: place, mask: 1 << UInt8(offset % 8))
          try expect((try? file.page(page)) == nil, "byte \(offset) of page \(page)")
          try disk.corrupt(fixture.path(of: name), atOffset: place, mask: 1 << UInt8(offset % 8))
        }
      }
      let directorySize = Int(file.header.directorySize)
      for offset in 0..<directorySize {
        let place = file.header.directoryOffset + offset
        try disk.corrupt(fixture.path(of: name), atOffset: place, mask: 1 << UInt8(offset % 8))
        try expect((try? file.directory()) == nil, "byte \(offset) of the directory")
        try disk.corrupt(fixture.path(of: name), atOffset: place, mask: 1 << UInt8(offset % 8))
      }
    },
    RuleCase(name: "a document's checksum is verified at every read") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<6, size: 200)
      try database.writeCheckpoint()
      try database.close()
      for reads in [ReadMode.mapped, .buffered] {
        let left = fixture.restarted(.processEnd, life: 90)
        let path = left.path(of: "0000000001.segment")
        let bytes = try left.fileSystem.contents(of: path, limit: 1 << 20).array
        let text = Array("doc-3".utf8)
        let place = try require(
          bytes.indices.first { bytes[$0...].starts(with: text) }, "document")
        try left.fileSystem.corrupt(path, atOffset: place + 120, mask: 1)
        // Data that a checkpoint covers is not read when the store is opened.
        let opened = try left.openQuiet { $0.readMode = reads }
        let snapshot = try opened.snapshot()
        try expectDamaged { _ = try snapshot.document("doc-3") }
        try expect(try snapshot.document("doc-2") != nil)
        try expect(try !opened.check().isSound, "the check finds nothing")
      }
    },
    RuleCase(name: "a frame is valid only at its offset and in its file") {
      var writer = ByteWriter()
      writer.appendZeros(FrameHeader.size)
      let header = FrameHeader(
        kind: .transaction, flags: [.first, .last], payloadSize: 64, payloadChecksum: 1, commit: 3,
        chain: 4)
      _ = header.encode(into: &writer, at: 0, offset: 4096, salt: 77)
      let bytes = writer.sharedCopy
      try expect(FrameHeader.decode(bytes, offset: 4096, salt: 77) == header, "not as it was")
      try expect(FrameHeader.decode(bytes, offset: 8192, salt: 77) == nil, "in another place")
      try expect(FrameHeader.decode(bytes, offset: 4096, salt: 78) == nil, "in another file")
    },
    RuleCase(name: "a frame with the wrong chain value is not part of the log") {
      // The same place, the same salt and the same number: only the preceding bytes differ.
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.commit(database, [.put("a", size: 10)])
      let one = fixture.restarted(.processEnd, life: 9)
      let name = "0000000001.segment"
      let end = try require(try fixture.segmentEnds(of: name).last, "end")
      let header = try SegmentFile(1...1, in: one.directory).header
      var buffer = TransactionBuffer(at: Int(end.offset))
      _ = buffer.append(.document) { $0.append([1, 2, 3]) }
      _ = buffer.finish(
        after: LogEnd(offset: end.offset, commit: end.commit, chain: end.chain ^ 1),
        salt: header.preamble.salt,
        trailer: CommitTrailer(
          frameCount: 0, recordCount: 0, lastSequence: 2, sequenceBound: 9, flushedThrough: 4096,
          time: 0, documentCount: 1))
      let scratch = try one.fileSystem.open("/frame", .creating)
      try buffer.write(to: scratch)
      try one.fileSystem.overwrite(
        one.path(of: name), atOffset: Int(end.offset),
        with: try scratch.read(4096, at: Int(end.offset)).array)
      let opened = try one.openQuiet()
      try fixture.expectNewest(opened)
      try expect(opened.openingReport.discardedBytes > 0, "the frame was taken for one of the log")
    },
    RuleCase(name: "a number above its limit is refused") {
      let preamble = FilePreamble(
        kind: .head, storeID: StoreID(high: 1, low: 2), salt: 3, createdAt: 4)
      let end = LogEnd(offset: 4096, commit: 1, chain: 5)
      for number in [counterLimit + 1, .max] {
        let head = Head(
          preamble: preamble, segmentNumber: 1, segmentSalt: 1, watermark: end,
          lastSequence: number,
          sequenceBound: 1, isClosed: true)
        try expect((try? Head.decode(head.encode(), path: "HEAD")) == nil, "HEAD")
        var header = SegmentHeader(
          preamble: preamble, fileID: number, numbers: 1...1, generation: 1, predecessor: end,
          lastSequence: 1, sequenceBound: 1, flushedSize: 4096, compaction: nil)
        header.preamble.kind = .segment
        try expect((try? SegmentHeader.decode(header.encode(), path: "segment")) == nil, "segment")
        var writer = ByteWriter()
        writer.appendZeros(FrameHeader.size)
        let frame = FrameHeader(
          kind: .transaction, flags: .first, payloadSize: 8, payloadChecksum: 0, commit: number,
          chain: 0)
        _ = frame.encode(into: &writer, at: 0, offset: 4096, salt: 1)
        try expect(FrameHeader.decode(writer.sharedCopy, offset: 4096, salt: 1) == nil, "frame")
        // A frame with a size above the limit.
        writer.replace(at: 8, with: UInt32(FrameHeader.payloadSizeLimit + 1))
        writer.replace(at: 16, with: 1 as UInt64)
        var check = CRC32C()
        check.add(1 as UInt64)
        check.add(4096 as UInt64)
        check.add(writer, in: 0..<28)
        writer.replace(at: 28, with: check.checksum)
        try expect(FrameHeader.decode(writer.sharedCopy, offset: 4096, salt: 1) == nil, "size")
        writer.removeAll()
        CommitTrailer(
          frameCount: 1, recordCount: 1, lastSequence: 1, sequenceBound: 1, flushedThrough: number,
          time: 1, documentCount: 1
        ).encode(to: &writer)
        try expect(CommitTrailer.decode(endOf: writer.sharedCopy) == nil, "trailer")
      }
    },
    RuleCase(name: "a size that exceeds the bytes that are there is not trusted") {
      // A record with a size beyond its bytes, under any checksum.
      for size in [5, 60, 1000, Record.sizeLimit, Int(Int32.max), Int.max] {
        var writer = ByteWriter()
        writer.appendVarint(size)
        writer.append([1, 2, 3, 4, 1, 2, 3, 4])
        try expect(
          (try? Record.decode(writer.sharedCopy, encryptedBy: nil)) == nil,
          "\(size) bytes"
        )
      }
      // A frame with a valid header that would end after the end of the file.
      for size in [200, 4096, FrameHeader.payloadSizeLimit] {
        let fixture = CrashFixture.fresh()
        let database = try fixture.openQuiet()
        try fixture.commit(database, [.put("a", size: 10)])
        let left = fixture.restarted(.processEnd, life: 9)
        let name = "0000000001.segment"
        let end = try require(try fixture.segmentEnds(of: name).last, "end")
        let header = try SegmentFile(1...1, in: left.directory).header
        var writer = ByteWriter()
        writer.appendZeros(FrameHeader.size + 64)
        _ = FrameHeader(
          kind: .transaction, flags: [.first, .last], payloadSize: size, payloadChecksum: 1,
          commit: end.commit + 1, chain: end.chain
        ).encode(into: &writer, at: 0, offset: Int(end.offset), salt: header.preamble.salt)
        try left.fileSystem.overwrite(
          left.path(of: name), atOffset: Int(end.offset), with: writer.array)
        for isMapped in [true, false] {
          let opened = try left.openQuiet {
            $0.isReadOnly = true
            $0.readMode = isMapped ? .mapped : .buffered
          }
          try fixture.expectNewest(opened)
        }
      }
    },
    RuleCase(name: "a newer format and a file not made by Divan are refused with their own errors")
    {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.commit(database, [.put("a", size: 10)])
      try database.close()
      let path = fixture.path(of: "0000000001.segment")
      let block = try fixture.fileSystem.contents(of: path, limit: 1 << 20).prefix(4096).array
      func code(_ change: (inout [UInt8]) -> Void) throws -> DatabaseError.Code? {
        let left = fixture.restarted(.processEnd, life: 9)
        try left.fileSystem.overwrite(path, atOffset: 0, with: withChecksum(block, change))
        return try left.codeOfOpening()
      }
      try expect(try code { _ in } == nil, "nothing was changed")
      try expect(try code { $0[8] = 2 } == .newerFormat, "a newer version")
      try expect(try code { $0[16] = 2 } == .newerFormat, "an unknown feature")
      try expect(try code { $0[12] = 2 } == .damaged, "a file of another kind")
      for (offset, byte) in [(0, 0x88), (12, 2)] as [(Int, UInt8)] {
        let changed = withChecksum(block) { $0[offset] = byte }
        do throws(LogError) {
          _ = try SegmentHeader.decode(SharedBytes(copying: changed), path: path)
        } catch .foreign {
          continue
        }
        throw CrashOracle.Mismatch("byte \(offset) does not make it a foreign file")
      }
    },
  ]

  /// Whether opening a disk or reading its contents reports an error.
  private static func damage(
    _ disk: SimulatedFileSystem, _ fixture: CrashFixture, _ life: Int
  ) throws -> Bool {
    do {
      let opened = try CrashFixture(disk, fixture.writer, life: life).open { $0.isReadOnly = true }
      return !opened.openingReport.damage.isEmpty
    } catch let error as DatabaseError { return error.code == .damaged }
  }
}

extension CrashFixture {
  /// The same store on another disk.
  fileprivate func restarted(_ disk: SimulatedFileSystem, _ life: Int) -> CrashFixture {
    CrashFixture(disk, writer, isMapped: isMapped, life: life)
  }
}

/// Returns a header block with a valid checksum after a change.
private func withChecksum(_ block: [UInt8], _ change: (inout [UInt8]) -> Void) -> [UInt8] {
  var changed = Array(block.dropLast(4))
  change(&changed)
  var writer = ByteWriter()
  writer.append(changed)
  var check = CRC32C()
  check.add(writer, in: 0..<writer.count)
  writer.append(check.checksum)
  return writer.array
}

extension CrashFixture {
  /// Returns the error code that an opening throws, or reports as damage; nil if there is none.
  fileprivate func codeOfOpening() throws -> DatabaseError.Code? {
    do {
      return try openQuiet().openingReport.damage.first?.code
    } catch let error as DatabaseError {
      return error.code
    }
  }
}
