/// Bugs in commits and transactions, in bytes, and in the index.
extension PlantedBug {
  static let committing: [PlantedBug] = [
    PlantedBug(
      "not-poisoned", rule: "promise 6", "the writer continues after a failed flush",
      in: Place.tail,
      find: "poison(error)\nthrow .system(error)",
      plant: """
        if !PLANTED { poison(error) }
        throw .system(error)
        """, killedBy: .rules("a flush of the log that fails during a checkpoint stops")),
    PlantedBug(
      "failed-flush-tried-again", rule: "promise 6", "a failed flush is retried",
      edits: [
        Edit(
          Place.tail,
          find: "if !Planted.logNotFlushed { try target.file.flush() }",
          plant: """
            do throws(SystemError) {
              if !Planted.logNotFlushed { try target.file.flush() }
            } catch {
              if PLANTED { try target.file.flush() } else { throw error }
            }
            """)
      ], killedBy: .rules("a failed flush stops writing but not reading, and is never")),
    PlantedBug(
      "failure-forgotten", rule: "promise 6", "later transactions ignore that a flush has failed",
      edits: [
        Edit(
          Place.mainStore,
          find: "if let failure = commits.failure {",
          plant: "if !PLANTED, let failure = commits.failure {"),
        Edit(
          Place.mainStore,
          find: """
            if writer.tail?.isPoisoned == true {
              commits.fail(
                DatabaseError(.outcomeUnknown, "a flush failed while maintenance ran", path: path))
            """,
          plant: """
            if !PLANTED, writer.tail?.isPoisoned == true {
              commits.fail(
                DatabaseError(.outcomeUnknown, "a flush failed while maintenance ran", path: path))
            """),
      ], killedBy: .rules("a failed flush stops writing but not reading, and is never")),
    PlantedBug(
      "lost-versions-seen", rule: "promise 6",
      "versions that wait for a failed flush become visible later",
      edits: [
        Edit(
          Place.commits,
          find: "if !isFlushing { waiting = [] }",
          plant: """
            if PLANTED { visible = waiting.last.map { VersionBox($0.state) } ?? visible }
            if !isFlushing { waiting = [] }
            """)
      ], killedBy: .rules("a failed flush stops writing but not reading, and is never")),
    PlantedBug(
      "maintenance-shows-lost-versions", rule: "promise 6",
      "maintenance makes versions visible that were never durable",
      in: Place.commits,
      find: "guard $0.failure == nil, $0.visible != nil else { return }",
      plant: "guard PLANTED || $0.failure == nil, $0.visible != nil else { return }",
      killedBy: .rules("promise 6: after a failed commit, maintenance shows nothing")),
    PlantedBug(
      "directory-failure-survived", rule: "8",
      "the writer continues although a name may not be durable",
      in: Place.writer,
      find: "tail.poison(failure)", plant: "if !PLANTED { tail.poison(failure) }",
      killedBy: .rules("a directory flush that fails after a rename stops the writer")),
    PlantedBug(
      "reading-write-returns-early", rule: "promise 2",
      "a transaction that only reads returns before what it read is durable",
      in: Place.mainStore,
      find: "} else {\ntry commits.waitUntilVisible(commit.number, of: commit.session)\n}",
      plant: """
        } else if !PLANTED {
          try commits.waitUntilVisible(commit.number, of: commit.session)
        }
        """,
      killedBy: .rules("a transaction that only reads returns once what it read")),
    PlantedBug(
      "covered-bound-counts", rule: "3",
      "a bound counts that only a trailer before the checkpoint states",
      in: Place.checkpointing, find: "tail.noteCovered()",
      plant: "if !PLANTED { tail.noteCovered() }",
      killedBy: .rules("rule 3: a bound stated only by a trailer")),
    PlantedBug(
      "wrong-waiter-told", rule: "promise 2",
      "a flush acknowledges commits that were appended while it ran",
      in: Place.tail,
      find: """
        $0.sequenceBound = max($0.sequenceBound, target.sequenceBound)
        }
        }
        return target.end.commit
        """,
      plant: """
        $0.sequenceBound = max($0.sequenceBound, target.sequenceBound)
        }
        }
        if PLANTED { return appendedCommit ?? target.end.commit }
        return target.end.commit
        """, killedBy: .rules("a commit made during a flush is acknowledged")),
    PlantedBug(
      "sleepers-not-woken", rule: "promise 2",
      "a thread that waits for another thread's flush is never woken",
      in: Place.commits,
      find: "for sleeper in sleepers { sleeper.signal() }",
      plant: "for sleeper in sleepers where !PLANTED { sleeper.signal() }",
      killedBy: .rules("a commit made during a flush is acknowledged")),
    PlantedBug(
      "snapshot-sees-later", rule: "promise 4",
      "a snapshot shows entries that were inserted after it",
      in: "BTree+Insertion.swift",
      find:
        "if !isKnownUniquelyReferenced(&node) { node = node.rebuilt(extra: extra, limit: pageSize) }",
      plant: """
        if !isKnownUniquelyReferenced(&node), !PLANTED || node.writer.freeSize < extra + 200 {
          node = node.rebuilt(extra: extra, limit: pageSize)
        }
        """, killedBy: .rules("a snapshot never changes")),
    PlantedBug(
      "removal-seen-by-snapshot", rule: "promise 4",
      "a snapshot loses entries that were removed after it",
      in: "BTree+Removal.swift",
      find:
        "if !isKnownUniquelyReferenced(&node) { node = node.rebuilt(extra: 0, limit: pageSize) }",
      plant:
        "if !PLANTED, !isKnownUniquelyReferenced(&node) { node = node.rebuilt(extra: 0, limit: pageSize) }",
      killedBy: .rules("a snapshot never changes")),
    PlantedBug(
      "nested-records-kept", rule: "promise 1",
      "the records of a nested change are not rolled back",
      in: Place.transaction,
      find: """
        self.knownPin = knownPin
        buffer.rollback(to: savepoint)
        """,
      plant: """
        self.knownPin = knownPin
        if !PLANTED { buffer.rollback(to: savepoint) }
        """, killedBy: .rules("a nested change that throws is rolled back")),
    PlantedBug(
      "nested-index-kept", rule: "promise 1",
      "the index entries of a nested change are not rolled back",
      in: Place.transaction,
      find: "if !isOver {\nself.state = state",
      plant: """
        if !isOver {
          if !PLANTED { self.state = state }
        """, killedBy: .rules("a nested change that throws is rolled back")),
    PlantedBug(
      "conflict-not-noticed", rule: "promise 1", "a stale document is stored over a newer one",
      in: Place.revisionEdit,
      find: "if current?.revision == revision { return revision }",
      plant:
        "if current?.revision == revision || PLANTED && current != nil { return current?.revision }",
      killedBy: .rules("a document that changed in the meantime is not overwritten")),
    PlantedBug(
      "transaction-limit-ignored", rule: "promise 8", "the size of a transaction is not limited",
      in: Place.revisionEdit,
      find: "guard buffer.size <= store.configuration.transactionSizeLimit else {",
      plant: "guard PLANTED || buffer.size <= store.configuration.transactionSizeLimit else {",
      killedBy: .rules("transactions and documents above their limits are refused")),
    PlantedBug(
      "document-limit-ignored", rule: "promise 8", "the size of a document is not limited",
      edits: [
        Edit(
          "ValueEncoder.swift",
          find: "guard !isTooLarge else { throw DocumentLimits.sizeError }",
          plant: "guard PLANTED || !isTooLarge else { throw DocumentLimits.sizeError }"),
        Edit(
          "ValueWalk.swift",
          find: "if checks == .stored, sink.isTooLarge { throw DocumentLimits.sizeError }",
          plant:
            "if !PLANTED, checks == .stored, sink.isTooLarge { throw DocumentLimits.sizeError }"),
      ], killedBy: .rules("transactions and documents above their limits are refused")),
    PlantedBug(
      "id-limit-ignored", rule: "promise 8", "the size of an ID is not limited",
      in: "DocumentID.swift",
      find: "guard size <= DocumentLimits.documentIDSizeInBytes else {",
      plant: "guard PLANTED || size <= DocumentLimits.documentIDSizeInBytes else {",
      killedBy: .rules("transactions and documents above their limits are refused")),
    PlantedBug(
      "depth-limit-ignored", rule: "promise 8", "the nesting of values is not limited",
      in: "ValueWalk.swift",
      find: "guard checks != .stored || open.count < DocumentLimits.depth else {",
      plant: "guard PLANTED || checks != .stored || open.count < DocumentLimits.depth else {",
      killedBy: .rules("transactions and documents above their limits are refused")),
    PlantedBug(
      "deletion-not-in-digest", rule: "revisions",
      "an edit and a deletion have the same revision ID",
      in: "RevisionID+Digest.swift",
      find: "form.append(isDeleted ? 1 : 0 as UInt8)",
      plant: "form.append(isDeleted && !PLANTED ? 1 : 0 as UInt8)",
      killedBy: .rules("equal edits have the same revision ID, and different edits")),
    PlantedBug(
      "parent-not-in-digest", rule: "revisions",
      "the same edit of different parents has the same revision ID",
      in: "RevisionID+Digest.swift",
      find: "appendPrefixed(parent?.description ?? \"\", to: &form)",
      plant: "appendPrefixed(PLANTED ? \"\" : parent?.description ?? \"\", to: &form)",
      killedBy: .rules("equal edits have the same revision ID, and different edits")),
    PlantedBug(
      "keys-unsorted-in-digest", rule: "revisions",
      "the revision ID depends on the order of the properties",
      edits: [
        Edit(
          "Value+Object.swift",
          find: "let sorted = properties.sorted { compareUTF8($0.0, $1.0) < 0 }",
          plant: """
            let sorted =
              PLANTED ? Array(properties) : properties.sorted { compareUTF8($0.0, $1.0) < 0 }
            """),
        Edit(
          "ValueEncoder.swift",
          find: "if isSorted { return nil }", plant: "if PLANTED || isSorted { return nil }"),
      ], killedBy: .rules("equal edits have the same revision ID, and different edits")),
  ]

  static let bytes: [PlantedBug] = [
    PlantedBug(
      "frame-checksum-ignored", rule: "promise 5",
      "the checksum of a frame's payload is not verified",
      in: Place.reader,
      find: "guard CRC32C.checksum(payload) == header.payloadChecksum else {",
      plant: "guard PLANTED || CRC32C.checksum(payload) == header.payloadChecksum else {",
      killedBy: .rules("a flipped bit in a closed log is detected, even in padding")),
    PlantedBug(
      "padding-unchecked", rule: "promise 5", "the checksum of a frame does not cover the padding",
      edits: [
        Edit(
          Place.reader,
          find:
            "guard Planted.frameChecksumIgnored || CRC32C.checksum(payload) == header.payloadChecksum else {",
          plant: """
            let checkedSize = PLANTED ? header.payloadSize : payload.count
            guard Planted.frameChecksumIgnored || CRC32C.checksum(payload.prefix(checkedSize)) == header.payloadChecksum else {
            """),
        Edit(
          Place.buffer,
          find: "check.add(writer, in: start + FrameHeader.size..<paddedEnd)",
          plant:
            "check.add(writer, in: start + FrameHeader.size..<(PLANTED ? frameEnds[index] : paddedEnd))"
        ),
      ], killedBy: .rules("a flipped bit in a closed log is detected, even in padding")),
    PlantedBug(
      "frame-header-unchecked", rule: "promise 5",
      "the checksum of a frame's header is not verified",
      in: Place.frame,
      find: "guard check.checksum == bytes.load(UInt32.self, at: 28) else { return nil }",
      plant:
        "guard PLANTED || check.checksum == bytes.load(UInt32.self, at: 28) else { return nil }",
      killedBy: .rules("a frame is valid only at its offset and in its file")),
    PlantedBug(
      "frame-not-bound-to-file", rule: "promise 5", "a frame of another file is accepted",
      in: Place.frame,
      find: "check.add(salt)", plant: "if !PLANTED { check.add(salt) }",
      killedBy: .rules("a frame is valid only at its offset and in its file")),
    PlantedBug(
      "frame-not-bound-to-place", rule: "promise 5", "a frame of another offset is accepted",
      in: Place.frame,
      find: "check.add(UInt64(offset))", plant: "if !PLANTED { check.add(UInt64(offset)) }",
      killedBy: .rules("a frame is valid only at its offset and in its file")),
    PlantedBug(
      "record-checksum-ignored", rule: "promise 9",
      "the checksum of a record is not verified when it is read",
      in: Place.recordCoding,
      find: "guard check.checksum == expected else {",
      plant: "guard PLANTED || check.checksum == expected else {",
      killedBy: .rules("a document's checksum is verified at every read")),
    PlantedBug(
      "page-checksum-ignored", rule: "promise 9",
      "the checksum of a checkpoint's page is not verified",
      in: Place.frame,
      find:
        "guard padded.count == paddedSize, CRC32C.checksum(padded) == payloadChecksum else {",
      plant: """
        guard padded.count == paddedSize, PLANTED || CRC32C.checksum(padded) == payloadChecksum else {
        """,
      killedBy: .rules("a flipped bit in a compacted segment or a checkpoint is detected")),
    PlantedBug(
      "header-checksum-ignored", rule: "promise 5",
      "the checksum of a file's header is not verified",
      in: Place.preamble,
      find: "guard isWhole else {", plant: "guard PLANTED || isWhole else {",
      killedBy: .rules("a flipped bit in a segment's header or HEAD is detected")),
    PlantedBug(
      "magic-ignored", rule: "promise 10", "the magic of a file is not checked",
      in: Place.preamble,
      find: "if hasMagic { return }", plant: "if PLANTED || hasMagic { return }",
      killedBy: .rules("a newer format and a file not made by Divan are refused")),
    PlantedBug(
      "version-ignored", rule: "promise 10",
      "a file of a newer format is read as one of this format",
      in: Place.preamble,
      find: "if major > FormatVersion.major, isWhole || major < 256 && expected == .segment {",
      plant:
        "if !PLANTED, major > FormatVersion.major, isWhole || major < 256 && expected == .segment {",
      killedBy: .rules("a newer format and a file not made by Divan are refused")),
    PlantedBug(
      "features-ignored", rule: "promise 10", "unknown features of a file are ignored",
      in: Place.preamble,
      find: "guard features & ~FormatVersion.knownFeatures == 0 else {",
      plant: "guard PLANTED || features & ~FormatVersion.knownFeatures == 0 else {",
      killedBy: .rules("a newer format and a file not made by Divan are refused")),
    PlantedBug(
      "kind-ignored", rule: "promise 10", "a file of another kind than its name states is accepted",
      in: Place.preamble,
      find:
        "guard let kind = Kind(rawValue: block.load(UInt32.self, at: 12)), kind == expected else {",
      plant:
        "guard let kind = Kind(rawValue: block.load(UInt32.self, at: 12)), PLANTED || kind == expected else {",
      killedBy: .rules("a newer format and a file not made by Divan are refused")),
    PlantedBug(
      "frame-size-limit-ignored", rule: "promise 8", "a frame's size is not limited",
      in: Place.frame,
      find: "bytes.load(UInt16.self, at: 6) == 0, payloadSize <= payloadSizeLimit,",
      plant: "bytes.load(UInt16.self, at: 6) == 0, PLANTED || payloadSize <= payloadSizeLimit,",
      killedBy: .rules("a number above its limit is refused")),
    PlantedBug(
      "header-limits-ignored", rule: "promise 8",
      "the numbers in a segment's header are not limited",
      in: Place.header,
      find: "for offset in counters where block.load(UInt64.self, at: offset) > counterLimit {",
      plant:
        "for offset in counters where !PLANTED && block.load(UInt64.self, at: offset) > counterLimit {",
      killedBy: .rules("a number above its limit is refused")),
    PlantedBug(
      "head-limits-ignored", rule: "promise 8", "the numbers in HEAD are not limited",
      in: Place.head,
      find:
        "for offset in [64, 80, 88, 104, 112] where block.load(UInt64.self, at: offset) > counterLimit {",
      plant:
        "for offset in [64, 80, 88, 104, 112] where !PLANTED && block.load(UInt64.self, at: offset) > counterLimit {",
      killedBy: .rules("a number above its limit is refused")),
    PlantedBug(
      "trailer-limits-ignored", rule: "promise 8", "the numbers in a trailer are not limited",
      in: Place.commitTrailer,
      find: "where payload.load(UInt64.self, at: at + offset) > counterLimit { return nil }",
      plant:
        "where !PLANTED && payload.load(UInt64.self, at: at + offset) > counterLimit { return nil }",
      killedBy: .rules("a number above its limit is refused")),
  ]

  static let indexes: [PlantedBug] = [
    PlantedBug(
      "split-loses-entry", rule: "index", "a leaf that is split loses an entry",
      in: "BTree+Insertion.swift",
      find:
        "let left = leaf.rebuilt(0..<middle, extra: index <= middle ? extra : 0, limit: pageSize)",
      plant: """
        let left = leaf.rebuilt(
          0..<(PLANTED && index < middle && middle > 2 ? middle - 1 : middle),
          extra: index <= middle ? extra : 0, limit: pageSize)
        """, killedBy: .rules("the index equals a plain dictionary"), symptom: .trap),
    PlantedBug(
      "inner-split-loses-child", rule: "index", "an inner node that is split loses a child",
      in: "BTree+Insertion.swift",
      find: "let rising = SharedBytes(copying: page.key(middle).array)",
      plant: "let rising = SharedBytes(copying: page.key(PLANTED ? middle - 1 : middle).array)",
      killedBy: .rules("an index of several levels equals a plain dictionary"), symptom: .trap),
    PlantedBug(
      "merge-of-nodes-loses-child", rule: "index", "the wrong one of two merged nodes is removed",
      in: "BTree+Removal.swift",
      find: "node.withChild(index) { $0 = merged }",
      plant: "if !PLANTED { node.withChild(index) { $0 = merged } }",
      killedBy: .rules("the index equals a plain dictionary"), symptom: .trap),
    PlantedBug(
      "tombstone-shows-what-lies-below", rule: "index", "a removed key is found in an older layer",
      in: "LayeredTree.swift",
      find: "memtable.set(key, [UInt8]().span)",
      plant: "if PLANTED { memtable.remove(key) } else { memtable.set(key, [UInt8]().span) }",
      killedBy: .rules("rule 2: a replayed change supersedes the previous revision")),
    PlantedBug(
      "filter-loses-keys", rule: "index", "a Bloom filter denies keys that are in its run",
      in: "BloomFilter.swift",
      find: "return block & mask == mask",
      plant: "return block & mask == mask && (!PLANTED || hash.block(of: 7) != 3)",
      killedBy: .rules("the index equals a plain dictionary")),
    PlantedBug(
      "first-of-range-missed", rule: "index", "a range leaves out its first key",
      in: "KeyBound.swift",
      find: """
        case .inclusive(let key): key.borrow { isUpper ? upperBound(of: $0) : lowerBound(of: $0) }
        """,
      plant: """
        case .inclusive(let key): key.borrow { isUpper || PLANTED ? upperBound(of: $0) : lowerBound(of: $0) }
        """, killedBy: .rules("a range of IDs includes or excludes its ends as stated")),
    PlantedBug(
      "end-of-range-included", rule: "index", "a range includes the key that it should end before",
      in: "KeyBound.swift",
      find: """
        case .exclusive(let key): key.borrow { isUpper ? lowerBound(of: $0) : upperBound(of: $0) }
        """,
      plant: """
        case .exclusive(let key): key.borrow { isUpper && !PLANTED ? lowerBound(of: $0) : upperBound(of: $0) }
        """,
      killedBy: .rules("a range of IDs includes or excludes its ends as stated")),
    PlantedBug(
      "scan-skips-leaf", rule: "index", "a scan skips a leaf that begins beyond its bound",
      in: "BTree+Scan.swift",
      find: "let next = range.descending ? index - 1 : index + 1",
      plant:
        "let next = range.descending ? index - 1 : min(index + (PLANTED ? 2 : 1), parent.page.count)",
      killedBy: .rules("the index equals a plain dictionary")),
    PlantedBug(
      "upper-layer-hidden", rule: "index",
      "of equal keys, a scan returns the one of the older layer",
      in: "LayeredTree+Scan.swift",
      find: "if let first, !comesBefore(entry.key, first.entry.key) { continue }",
      plant:
        "if let first, PLANTED ? comesBefore(first.entry.key, entry.key) : !comesBefore(entry.key, first.entry.key) { continue }",
      killedBy: .rules("the index equals a plain dictionary")),
    PlantedBug(
      "run-separator-lost", rule: "index", "the pages of a run are separated by the wrong key",
      in: "RunWriter.swift",
      find: "self.separator = separator",
      plant: "self.separator = PLANTED ? separator + [0xFF] : separator",
      killedBy: .rules("the index equals a plain dictionary")),
  ]
}
