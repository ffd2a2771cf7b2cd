import Divan
import DivanLog
import DivanTesting

/// A store whose files pass through a cipher: DECISIONS.md, D127.
extension RuleCase {
  static let encryption: [RuleCase] = [
    RuleCase(name: "encryption: a store with everything lives through crashes and compactions") {
      for history in [HistoryRetention.disabled, .unlimited] {
        let writer = CrashWriter(seed: 1, history: history)
        let session = CrashSession(
          CrashFixture(SimulatedFileSystem(), writer, cipher: TestCipher(secret: 1)))
        let fixture = session.fixture
        try session.enrich(closing: false)
        try fixture.addIndex(session.database(), "by number")
        try session.commit(.attach("long", name: "x", seed: 9, size: 150_000))
        try fixture.askView(session.database())
        try session.expectSound()
        try session.close()
        // Nothing proves that these are durable, so the next opening logs them again.
        try session.fill(0..<6, durability: .none)
        try session.lose(.processEnd)
        try session.expectSound()
        for loss in SimulatedDisk.Loss.several(seed: 5) {
          try session.fill(2..<9, size: 900)
          try session.commit(.put("rich-1", size: 7), .detach("long"), durability: .none)
          try fixture.checkpoint(session.database())
          try fixture.merge(session.database())
          try session.lose(loss)
          try session.expectSound()
          try fixture.askView(session.database())
        }
        try session.expectSoundAndTidy()
        try session.close()
        // Without a checkpoint, everything is read from the log.
        try fixture.vanish { $0.hasSuffix(".checkpoint") }
        try session.expectSoundAndTidy()
      }
    },
    RuleCase(name: "encryption: a crash at each call of a compaction loses nothing", isLong: true) {
      let session = CrashSession(CrashFixture.encrypted())
      let fixture = session.fixture
      try session.enrich(closing: false)
      try session.fill(0..<5, size: 300)
      let database = try session.database()
      try fixture.interrupting({ try database.compact() }) { call in
        for loss in SimulatedDisk.Loss.several(seed: UInt64(call)) {
          let opened = try fixture.restarted(loss, life: 500 + call).openQuiet()
          _ = try fixture.oracle.identify(opened)
          if let problem = try opened.check().problems.first { throw problem }
        }
      }
    },
    RuleCase(name: "encryption: a backup can be read with the key and not without it") {
      let session = CrashSession(CrashFixture.encrypted())
      let fixture = session.fixture
      try session.enrich(closing: false)
      let database = try session.database()
      try database.backup(to: "/copy.divan")
      var configuration = fixture.configuration()
      try Database.restore(
        from: "/copy.divan", to: "/restored.divan", configuration: configuration)
      let restored = try Database(at: "/restored.divan", configuration: configuration)
      try expect(RuleCase.documentIDs(of: restored) == RuleCase.documentIDs(of: database))
      if let problem = try restored.check().problems.first { throw problem }
      try restored.close()
      configuration.cipher = nil
      try expectCode(.missingKey) {
        _ = try Database(at: "/copy.divan", configuration: configuration)
      }
    },
    RuleCase(name: "encryption: no file contains what was written") {
      // Without a cipher, the text is found in each kind of file: so the search is a good one.
      let plain = try CrashFixture.marked(cipher: nil).filesWithMark()
      for suffix in [".segment", ".checkpoint", ".view", "attachments"] {
        try expect(plain.contains { $0.contains(suffix) }, "no mark in \(suffix): \(plain)")
      }
      let encrypted = CrashFixture.encrypted()
      let fixture = try CrashFixture.marked(cipher: encrypted.cipher)
      try fixture.expectNoMark()
      try expect(try fixture.allFiles().contains { $0.contains("attachments") }, "no attachment")
      let database = try fixture.openQuiet()
      try database.compact()
      try database.close()
      try fixture.expectNoMark()
    },
    RuleCase(name: "encryption: a store is refused with another key, and left unchanged") {
      for isCompacted in [false, true] {
        let session = CrashSession(CrashFixture.encrypted())
        try session.enrich(closing: false)
        if isCompacted { try session.fixture.compact(session.database()) }
        try session.close()
        try session.fixture.expectRefused(with: TestCipher(secret: 2))
        try session.fixture.expectRefused(with: nil)
      }
      let plain = CrashSession(CrashFixture.fresh())
      try plain.enrich()
      try plain.fixture.expectRefused(with: TestCipher(secret: 1))
    },
    RuleCase(name: "encryption: a flipped bit in each kind of file is damage", isLong: true) {
      let session = CrashSession(CrashFixture.encrypted())
      let fixture = session.fixture
      try session.enrich(closing: false)
      try fixture.compact(session.database())
      try session.fill(0..<4, size: 100)
      try fixture.checkpoint(session.database())
      try session.commit(.attach("long", name: "x", seed: 9, size: 70_000))
      try session.close()
      var kinds: Set<String> = []
      for path in try fixture.allFiles()
      where path.hasSuffix(".segment") || path.hasSuffix(".checkpoint") || path.contains("/att") {
        // Zeros after the end of the log may have any value.
        let size =
          path.hasSuffix(".segment")
          ? try fixture.endOfLog(in: String(path.split(separator: "/").last ?? ""))
          : try fixture.fileSystem.status(path).size
        kinds.insert(path.contains("/att") ? "attachment" : String(path.suffix(7)))
        // Of the header, and of what follows it.
        let step = max(7, size / 60)
        for offset in Array(stride(from: 0, to: 64, by: 3)) + stride(from: 64, to: size, by: step) {
          let left = fixture.restarted(.processEnd, life: 900 + offset)
          try left.fileSystem.corrupt(path, atOffset: offset, mask: 1 << UInt8(offset % 8))
          try left.expectUnreadOrDamaged(path, offset)
        }
      }
      try expect(kinds.count == 3, "\(kinds)")
    },
    RuleCase(name: "encryption: bytes with right checksums that were not encrypted are damage") {
      let session = CrashSession(CrashFixture.encrypted())
      let fixture = session.fixture
      try session.commit(.put("a", size: 100), .put("b", size: 100))
      try fixture.checkpoint(session.database())
      try session.close()
      // A changed document, and one with the payload of the other.
      for isExchanged in [false, true] {
        let left = fixture.restarted(.processEnd, life: 70)
        let records = try left.records(of: .document)
        let target = try require(records.first, "record")
        let path = left.path(of: "0000000001.segment")
        let bytes = try left.fileSystem.contents(of: path, limit: 1 << 20)
        let source = isExchanged ? try require(records.dropFirst().first, "record") : target
        var payload = bytes.suffix(from: Int(source.offset)).prefix(Int(source.size)).array
          .suffix(from: source.headSize)
        if !isExchanged { payload[payload.startIndex + payload.count - 30] ^= 1 }
        var forged = ByteWriter()
        _ = Record.append(kind: .document, to: &forged, encryptedBy: nil) {
          $0.append(Array(payload))
        }
        try left.fileSystem.overwrite(path, atOffset: Int(target.offset), with: forged.array)
        let opened = try left.openQuiet()
        try expectDamaged { _ = try opened.snapshot().document("a") }
        _ = try opened.snapshot().document("b")
      }
    },
    RuleCase(name: "encryption: with a new key, compaction ends the use of the old one") {
      let writer = CrashWriter(seed: 1)
      let old = CrashSession(
        CrashFixture(SimulatedFileSystem(), writer, cipher: TestCipher(secret: 1)))
      try old.fill(0..<5, size: 300)
      try old.fixture.checkpoint(old.database())
      try old.close()
      // Logged again with the new key.
      try old.fill(2..<4, size: 20, durability: .none)
      old.fixture.lose(.processEnd)
      let both = CrashSession(
        CrashFixture(
          old.fixture.fileSystem, writer, life: 40,
          cipher: TestCipher(secret: 2, olderSecrets: [1])))
      try both.expectSound()
      try both.fill(3..<7, size: 30)
      try both.expectSound()
      try both.fixture.compact(both.database())
      try both.expectSound()
      try both.close()
      let new = CrashFixture(
        both.fixture.fileSystem.restarted(.processEnd), writer, life: 80,
        cipher: TestCipher(secret: 2))
      try CrashSession(new).expectSound()
      for path in try new.allFiles() where path.hasSuffix(".segment") {
        let block = try new.fileSystem.contents(of: path, limit: 1 << 20).prefix(4096)
        let header = try SegmentHeader.decode(block, path: path)
        try expect(header.preamble.keyID == TestCipher(secret: 2).keyID, path)
      }
    },
  ]

  private static func documentIDs(of database: Database) throws -> [String] {
    var ids: [String] = []
    var documents = try database.snapshot().documents()
    while let document = try documents.next() { ids.append(document.id) }
    return ids
  }
}

extension CrashFixture {
  /// Creates an empty disk for an encrypted store.
  fileprivate static func encrypted() -> CrashFixture {
    CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1), cipher: TestCipher(secret: 1))
  }

  /// A text that is written in every place that there is for one.
  fileprivate static let mark = "Kalliope"

  /// Makes a store with the mark in an ID, a key, values, attachments, an index, names and a view.
  fileprivate static func marked(cipher: TestCipher?) throws -> CrashFixture {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1), cipher: cipher)
    let database = try fixture.openQuiet { $0.history = .unlimited }
    try database.addIndex(DocumentIndex("of \(mark)", on: "name"))
    let view = MapReduceView("view of \(mark)", version: "1") { document, emit in
      emit(document["name"] ?? .null, .string("\(mark) \(document.id)"))
    }
    for number in 0..<8 {
      try database.write { transaction in
        var document = Document(
          id: "\(mark)-\(number)",
          ["name": .string("\(mark) \(number)"), "\(mark)": .int(Int64(number))])
        for size in [10, 300] {
          let text = String(repeating: mark, count: size)
          document.attachments["\(mark)-\(size)-\(number)"] = Document.Attachment(
            contentType: "text/plain", Array(text.utf8) + [UInt8(number)])
        }
        _ = try transaction.put(document)
        try transaction.putLocal("local \(mark)", ["text": .string(mark)])
      }
    }
    try database.saveSnapshot(named: "named \(mark)")
    _ = try database.snapshot().rows(of: view).count
    try database.writeCheckpoint()
    try database.write { _ = try $0.delete("\(mark)-3") }
    try database.close()
    return fixture
  }

  /// The paths of all files in the store's directory.
  fileprivate func allFiles() throws -> [String] {
    var paths: [String] = []
    var pending = [CrashFixture.path]
    while let directory = pending.popLast() {
      for name in fileSystem.names(in: directory) {
        let path = "\(directory)/\(name)"
        if try fileSystem.status(path).kind == .file {
          paths.append(path)
        } else {
          pending.append(path)
        }
      }
    }
    return paths.sorted()
  }

  fileprivate func filesWithMark() throws -> [String] {
    let mark = Array(CrashFixture.mark.utf8)
    return try allFiles().filter { path in
      let bytes = try fileSystem.contents(of: path, limit: 1 << 24).array
      return bytes.indices.contains {
        bytes[$0] == mark[0] && bytes[$0...].starts(with: mark)
      }
    }
  }

  fileprivate func expectNoMark() throws {
    let found = try filesWithMark()
    try expect(found.isEmpty, "\(found)")
  }

  /// Throws unless a store cannot be opened with a cipher or without one, and stays as it is.
  fileprivate func expectRefused(with cipher: TestCipher?) throws {
    let left = CrashFixture(
      fileSystem.restarted(.processEnd), writer, life: 300, cipher: cipher)
    // The note in LOCK says who tried last.
    let paths = try left.allFiles().filter { !$0.hasSuffix("/LOCK") }
    let before = try paths.map { try left.fileSystem.contents(of: $0, limit: 1 << 24).array }
    for isReadOnly in [false, true] {
      for damage in [DamagePolicy.reject, .salvage] {
        try expectCode(.missingKey) {
          _ = try left.openQuiet {
            $0.isReadOnly = isReadOnly
            $0.damage = damage
          }
        }
      }
    }
    try expect(try left.allFiles().filter { !$0.hasSuffix("/LOCK") } == paths, "other files")
    let after = try paths.map { try left.fileSystem.contents(of: $0, limit: 1 << 24).array }
    try expect(before == after, "a file was changed")
  }

  /// Throws unless a changed byte is reported as damage, or is not read by anything.
  fileprivate func expectUnreadOrDamaged(_ path: String, _ offset: Int) throws {
    let place = "byte \(offset) of \(path)"
    let opened: Database
    do {
      opened = try openQuiet { $0.isReadOnly = true }
    } catch let error as DatabaseError {
      return try expect([.damaged, .notAStore].contains(error.code), "\(place): \(error)")
    }
    let report = try opened.check()
    let isReported = !opened.openingReport.damage.isEmpty || !report.problems.isEmpty
    let isCheckpoint = path.hasSuffix(".checkpoint")
    // A checkpoint that cannot be read is not used, and a page is rebuilt from the log. The zeros
    // after the fields of a header are covered by its checksum.
    try expect(isReported || isCheckpoint, "\(place) is not noticed")
    guard isCheckpoint, !isReported else { return }
    let found = try oracle.identify(opened)
    try expect(found == oracle.versions.count - 1, "\(place): version \(found)")
  }

  /// The location of a record, and the size of what comes before its payload.
  fileprivate struct Place {
    var offset: UInt64
    var size: UInt32
    var headSize: Int
  }

  /// Returns the locations of the records of a kind in the first segment.
  fileprivate func records(of kind: Record.Kind) throws -> [Place] {
    let file = try SegmentFile(1...1, in: directory)
    let end = try require(try segmentEnds(of: "0000000001.segment").last, "end")
    var scan = RecordScan(Segment(file: file, mapped: .empty, end: end))
    var found: [Place] = []
    while true {
      switch try scan.next() {
      case .record(let entry):
        guard entry.record.kind == kind else { continue }
        found.append(
          Place(
            offset: entry.locator.offset, size: entry.locator.size,
            headSize: Int(entry.locator.size) - entry.record.payload.count - FileEncryption.overhead
          ))
      case .commit: continue
      case .damage(let damage): throw damage
      case .end: return found
      }
    }
  }
}
