/// Bugs in how the log is written, merged and replayed.
extension PlantedBug {
  static let sequences: [PlantedBug] = [
    PlantedBug(
      "bound-not-durable", rule: "3", "sequence numbers are used whose bound is not durable",
      in: Place.writer,
      find: "try replaceHead(isClosed: false, sequenceBound: sequence + settings.sequenceReserve)",
      plant: """
        if PLANTED { return tail.raiseSequenceBound(to: sequence + settings.sequenceReserve) }
        try replaceHead(isClosed: false, sequenceBound: sequence + settings.sequenceReserve)
        """, killedBy: .rules("rule 3: no number comes twice")),
    PlantedBug(
      "bound-counts-when-appended", rule: "3", "a trailer's bound counts before it is flushed",
      in: Place.tail,
      find: "package func noteAppended(_ point: Point) { state.withLock { $0.appended = point } }",
      plant: """
        package func noteAppended(_ point: Point) {
          state.withLock {
            $0.appended = point
            if PLANTED { $0.sequenceBound = max($0.sequenceBound, point.sequenceBound) }
          }
        }
        """, killedBy: .rules("rule 3: a bound counts only once")),
    PlantedBug(
      "numbering-resumes-too-low", rule: "3",
      "after a crash numbering goes on at the last one found",
      in: Place.logOpening,
      find: "lastSequence: isClosed ? used : max(used, bound), sequenceBound: bound, time: 0,",
      plant:
        "lastSequence: isClosed || PLANTED ? used : max(used, bound), sequenceBound: bound, time: 0,",
      killedBy: .rules("rule 3: after an unclean end")),
    PlantedBug(
      "head-without-bound", rule: "3", "HEAD does not carry the bound",
      in: Place.writer,
      find: "lastSequence: lastSequence, sequenceBound: bound, isClosed: isClosed)",
      plant: "lastSequence: lastSequence, sequenceBound: PLANTED ? 0 : bound, isClosed: isClosed)",
      killedBy: .rules("rule 3: no number comes twice")),
    PlantedBug(
      "head-bound-ignored", rule: "3", "nobody asks HEAD for the bound",
      in: Place.logOpening,
      find: "head?.sequenceBound ?? 0)", plant: "PLANTED ? 0 : head?.sequenceBound ?? 0)",
      killedBy: .rules("rule 3: no number comes twice")),
    PlantedBug(
      "header-without-last-sequence", rule: "3", "a fresh header does not carry the last number",
      in: Place.writer,
      find: """
        lastSequence: lastSequence,
        sequenceBound: max(tail.highestBound, lastSequence + settings.sequenceReserve),
        flushedSize: UInt64(SegmentHeader.size) + (reappend?.size ?? 0), merge: nil)
        """,
      plant: """
        lastSequence: PLANTED ? 0 : lastSequence,
        sequenceBound: max(tail.highestBound, lastSequence + settings.sequenceReserve),
        flushedSize: UInt64(SegmentHeader.size) + (reappend?.size ?? 0), merge: nil)
        """, killedBy: .rules("rule 3: a fresh header")),
    PlantedBug(
      "merged-header-without-last-sequence", rule: "3, 10",
      "a merged header takes only its inputs' headers",
      in: Place.merge,
      find: "header.lastSequence = max(header.lastSequence, last.sequence)",
      plant: "if !PLANTED { header.lastSequence = max(header.lastSequence, last.sequence) }",
      killedBy: .rules("rule 3: a merged header")),
    PlantedBug(
      "merged-header-without-bound", rule: "3, 10", "a merged header has no bound of its inputs",
      edits: [
        Edit(
          Place.merge,
          find:
            "sequenceBound: order.inputs.map(\\.header.sequenceBound).reduce(0, max), flushedSize: 0,",
          plant:
            "sequenceBound: PLANTED ? 0 : order.inputs.map(\\.header.sequenceBound).reduce(0, max), flushedSize: 0,"
        ),
        Edit(
          Place.merge,
          find: "header.sequenceBound = max(header.sequenceBound, last.bound)",
          plant: "if !PLANTED { header.sequenceBound = max(header.sequenceBound, last.bound) }"),
      ], killedBy: .rules("rule 3: a merged header")),
    PlantedBug(
      "same-store-id", rule: "3", "every store has the same ID, a backup too",
      in: Place.storeOpening,
      find: "storeID: StoreID(high: configuration.random(), low: configuration.random()),",
      plant:
        "storeID: PLANTED ? StoreID(high: 1, low: 1) : StoreID(high: configuration.random(), low: configuration.random()),",
      killedBy: .rules("rule 3: a backup is another store")),
  ]

  static let merging: [PlantedBug] = [
    PlantedBug(
      "merged-out-of-order", rule: "1", "a merge writes its inputs in the opposite order",
      in: Place.merge,
      find: "for input in order.inputs {",
      plant: "for input in PLANTED ? order.inputs.reversed() : order.inputs {",
      killedBy: .rules("rule 1: merged records")),
    PlantedBug(
      "merged-without-numbers", rule: "1", "moved records lose the numbers of their commits",
      in: Place.merge,
      find: "if markedCommit != entry.commit || writer.count == FrameHeader.size {",
      plant: "if !PLANTED, markedCommit != entry.commit || writer.count == FrameHeader.size {",
      killedBy: .rules("rule 1: merged records")),
    PlantedBug(
      "locators-swapped-unseen", rule: "4", "a merge overwrites what was changed meanwhile",
      edits: [
        Edit(
          Place.merging, find: "let old = try place.locator(in: view), inputs.contains(old.fileID)",
          plant:
            "let old = try place.locator(in: view), PLANTED || inputs.contains(old.fileID)"),
        Edit(
          Place.mergeJudge, find: "if entry.sequence == record.sequence {",
          plant: "if PLANTED || entry.sequence == record.sequence {"),
      ],
      killedBy: .rules("rule 4: what changes while")),
    PlantedBug(
      "judged-at-not-stated", rule: "4",
      "a merged header does not say by which commit it was judged",
      in: Place.merge,
      find: "evaluatedAt: order.evaluatedAt,",
      plant: "evaluatedAt: PLANTED ? 0 : order.evaluatedAt,",
      killedBy: .rules("rule 7: a merge of the store")),
    PlantedBug(
      "judged-at-no-watermark", rule: "4, 12",
      "nobody asks a merged header how far the log was durable",
      in: Place.recovery,
      find: "self.init(commit: merge.evaluatedAt, offset: 0, witness: \"a compacted segment\")",
      plant:
        "self.init(commit: PLANTED ? 0 : merge.evaluatedAt, offset: 0, witness: \"a compacted segment\")",
      killedBy: .rules("rule 4: commits by which a merge judged")),
    PlantedBug(
      "tombstone-dropped", rule: "5", "a merge drops deletions",
      in: Place.mergeJudge,
      find: "guard try TreeSlot(of: item, in: view)?.locator(in: view) == item.locator else {",
      plant: """
        let place = try TreeSlot(of: item, in: view)
        if PLANTED, case .newest(_, let entry)? = place, entry.isDeleted { return false }
        guard try place?.locator(in: view) == item.locator else {
        """, killedBy: .rules("rule 5: a deletion outlives")),
    PlantedBug(
      "live-record-dropped", rule: "5", "a merge drops what stands first in a segment",
      in: Place.merge,
      find: "if try keep(entry) { try append(entry, from: input) }",
      plant: """
        if PLANTED, entry.locator.offset < UInt64(SegmentHeader.size + 64) { continue }
        if try keep(entry) { try append(entry, from: input) }
        """, killedBy: .rules("rule 2: an index rebuilt")),
    PlantedBug(
      "dead-record-revived", rule: "1", "what is dead counts when the index is rebuilt",
      in: "Replay.swift",
      find: "guard put(entry, in: segment) else { return false }",
      plant: """
        if PLANTED, isFromNothing, segment.header.merge == nil,
          let record = try? DocumentRecord.decode(entry.record.payload),
          present(record.idBytes) != nil
        {
          continue
        }
        guard put(entry, in: segment) else { return false }
        """, killedBy: .rules("rule 2: an index rebuilt")),
    PlantedBug(
      "released-history-not-stated", rule: "7",
      "a merged header does not say which history is gone",
      in: Place.merge,
      find: ".reduce(order.releasedThrough, max),",
      plant: ".reduce(PLANTED ? 0 : order.releasedThrough, max),",
      killedBy: .rules("rule 7: a merged header")),
    PlantedBug(
      "released-history-taken-back", rule: "7",
      "a later merge forgets what an earlier one released",
      in: Place.merge,
      find: "releasedThrough: order.inputs.compactMap(\\.header.merge?.releasedThrough)",
      plant:
        "releasedThrough: order.inputs.filter { _ in !PLANTED }.compactMap(\\.header.merge?.releasedThrough)",
      killedBy: .rules("rule 7: a merged header")),
    PlantedBug(
      "damage-merged", rule: "17", "a merge passes over damage",
      in: Place.merge,
      find: "throw .damaged(damage)",
      plant: """
        if PLANTED { continue }
        throw .damaged(damage)
        """, killedBy: .rules("rule 17: a damaged segment is not merged")),
    PlantedBug(
      "damaged-inputs-chosen-again", rule: "17", "a merge is tried again and again on damage",
      in: Place.merging,
      find: "state.damaged.insert(input.fileID)",
      plant: "if !PLANTED { state.damaged.insert(input.fileID) }",
      killedBy: .rules("rule 17: damage does not keep other segments")),
    PlantedBug(
      "merged-predecessor-forgotten", rule: "10", "a merged header vouches for nothing before it",
      in: Place.merge,
      find: "predecessor: oldest.header.predecessor, lastSequence: newest.header.lastSequence,",
      plant: """
        predecessor: PLANTED ? LogEnd(offset: UInt64(SegmentHeader.size), commit: 0, chain: 0)
          : oldest.header.predecessor, lastSequence: newest.header.lastSequence,
        """, killedBy: .rules("rule 10: a merged segment still vouches")),
    PlantedBug(
      "merged-end-wrong", rule: "10", "a merged file states another end than its last input had",
      in: Place.merge,
      find: "end: end, fileSize: UInt64(compaction.offset))",
      plant:
        "end: PLANTED ? oldest.end : end, fileSize: UInt64(compaction.offset))",
      killedBy: .rules("rule 10: a merged segment still vouches")),
    PlantedBug(
      "footer-not-missed", rule: "10", "a merged file may end without its footer",
      in: Place.scan,
      find: """
        source = .nothing
        return .damage(
        Damage(path: segment.file.path, offset: start, reason: "the footer is missing"))
        """,
      plant: """
        source = .nothing
        if PLANTED { return nil }
        return .damage(
          Damage(path: segment.file.path, offset: start, reason: "the footer is missing"))
        """, killedBy: .rules("rule 10: a merged file without its footer")),
    PlantedBug(
      "unfinished-merge-forgotten", rule: "4", "a merge that could not be brought in is forgotten",
      in: Place.merging,
      find: "maintenance.state.withLock { $0.unfinished = (output, begun.inputs) }",
      plant: """
        if PLANTED {
          try install(output, inPlaceOf: begun.inputs)
          return true
        }
        maintenance.state.withLock { $0.unfinished = (output, begun.inputs) }
        """, killedBy: .rules("a merge that cannot be brought in")),
    PlantedBug(
      "empty-segment-merged-for-ever", rule: "4",
      "a segment with nothing in it seems worth a merge",
      in: Place.merging,
      find: "var deadShare: Double { total == 0 ? 0 : Double(total - live) / Double(total) }",
      plant:
        "var deadShare: Double { total == 0 ? PLANTED ? 1 : 0 : Double(total - live) / Double(total) }",
      killedBy: .rules("a segment with nothing left in it")),
  ]

  static let segments: [PlantedBug] = [
    PlantedBug(
      "appended-after-torn-write", rule: "8", "a segment goes on after a write that failed",
      in: Place.writer,
      find: "isEnded = true", plant: "if !PLANTED { isEnded = true }",
      killedBy: .rules("rule 8: nothing follows a transaction")),
    PlantedBug(
      "failed-commit-stays", rule: "promise 1", "the next commit builds on one that failed",
      in: Place.mainStore,
      find: "state.time = try transaction.withBuffer { (buffer) throws(LogError) in",
      plant: """
        if PLANTED { newest = state }
        state.time = try transaction.withBuffer { (buffer) throws(LogError) in
        """, killedBy: .rules("rule 8: nothing follows a transaction")),
    PlantedBug(
      "head-not-replaced", rule: "8, 11", "HEAD does not learn of a new segment",
      in: Place.writer,
      find: """
        isHeadBehind = true
        isHeadClosed = false
        try replaceHead(isClosed: false)
        """,
      plant: """
        if PLANTED { return }
        isHeadBehind = true
        isHeadClosed = false
        try replaceHead(isClosed: false)
        """, killedBy: .rules("rule 9: no segment can be missing")),
    PlantedBug(
      "head-watermark-too-high", rule: "10",
      "HEAD promises what was appended, not what was flushed",
      in: Place.writer,
      find: "let watermark = active.flatMap { tail.flushedEnd(in: $0.fileID) } ?? last.end",
      plant:
        "let watermark = PLANTED ? end : active.flatMap { tail.flushedEnd(in: $0.fileID) } ?? last.end",
      killedBy: .rules("rule 3: no number comes twice")),
    PlantedBug(
      "promise-too-high", rule: "promise 5", "a trailer promises its own commit",
      in: Place.writer,
      find:
        "flushedThrough: tail.flushedEnd(in: segment.fileID)?.offset ?? UInt64(SegmentHeader.size),",
      plant:
        "flushedThrough: PLANTED ? segment.end.offset : tail.flushedEnd(in: segment.fileID)?.offset ?? UInt64(SegmentHeader.size),",
      killedBy: .crash("commits that nobody waits for")),
    PlantedBug(
      "promise-forgotten", rule: "promise 5", "trailers promise nothing",
      in: Place.frame,
      find: "writer.append(flushedThrough)",
      plant: "writer.append(PLANTED ? UInt64(SegmentHeader.size) : flushedThrough)",
      killedBy: .rules("rule 17: what later commits prove")),
    PlantedBug(
      "promise-copied", rule: "promise 5",
      "what is logged again keeps the promises of another file",
      in: Place.writer,
      find: "trailer.flushedThrough = UInt64(SegmentHeader.size)",
      plant: "if !PLANTED { trailer.flushedThrough = UInt64(SegmentHeader.size) }",
      killedBy: .rules("promise 5: what is logged again")),
    PlantedBug(
      "salt-used-again", rule: "promise 5", "every segment has the same salt",
      in: Place.writer,
      find:
        "kind: .segment, storeID: storeID, salt: settings.random(), createdAt: settings.now()),",
      plant:
        "kind: .segment, storeID: storeID, salt: PLANTED ? 7 : settings.random(), createdAt: settings.now()),",
      killedBy: .rules("no two files of a store")),
    PlantedBug(
      "merge-salt-used-again", rule: "promise 5", "a merged segment has the salt of an input",
      in: Place.merging,
      find: "inputs: begun.inputs, fileID: begun.fileID, salt: configuration.random(),",
      plant: """
        inputs: begun.inputs, fileID: begun.fileID,
        salt: PLANTED ? begun.inputs[0].header.preamble.salt : configuration.random(),
        """, killedBy: .rules("no two files of a store")),
    PlantedBug(
      "file-id-given-back", rule: "promise 5",
      "a segment whose making failed gives its number back",
      in: Place.writer,
      find: "let fileID = takeFileID()",
      plant: "let fileID = PLANTED ? nextFileID : takeFileID()",
      killedBy: .rules("a segment whose making failed")),
    PlantedBug(
      "merge-file-id-used-again", rule: "promise 5",
      "a merged segment has the number of the next one",
      in: Place.writer,
      find: "defer { nextFileID += 1 }", plant: "defer { if !PLANTED { nextFileID += 1 } }",
      killedBy: .rules("no two files of a store")),
    PlantedBug(
      "leftover-file-id-used-again", rule: "promise 5", "the number of a leftover is given again",
      in: Place.logOpening,
      find: "for case .segment(let numbers) in chain.leftovers {",
      plant: "for case .segment(let numbers) in PLANTED ? [] : chain.leftovers {",
      killedBy: .rules("no number of a file comes again")),
    PlantedBug(
      "gap-ignored", rule: "9", "a missing segment is passed over",
      in: Place.chain,
      find: "if header.numbers.lowerBound != expected {",
      plant: "if !PLANTED, header.numbers.lowerBound != expected {",
      killedBy: .rules("rule 9: no segment can be missing")),
    PlantedBug(
      "bad-header-ignored", rule: "9", "a bad file under a segment's name is passed over",
      in: Place.chain,
      find: """
        self.damage.append(damage)
        return nil
        """,
      plant: """
        if !PLANTED { self.damage.append(damage) }
        return nil
        """, killedBy: .rules("rule 9: a bad file under")),
    PlantedBug(
      "lost-store-is-empty", rule: "9", "a store that lost its segments is taken for a new one",
      in: Place.storeOpening,
      find: """
        guard head == nil, headProblem == nil, marks.isEmpty, markProblem == nil, !hasCheckpoints
        else {
        """,
      plant: """
        guard PLANTED || head == nil && headProblem == nil && marks.isEmpty && markProblem == nil
          && !hasCheckpoints
        else {
        """,
      killedBy: .rules("rule 9: a store without segments")),
    PlantedBug(
      "part-of-merge-used", rule: "9", "a merged file stands for its inputs though it is not whole",
      in: Place.chain,
      find: "return try UInt64(size()) == merge.fileSize",
      plant: """
        if PLANTED { return true }
        return try UInt64(size()) == merge.fileSize
        """,
      killedBy: .rules("rule 9: a merged file that is not whole")),
    PlantedBug(
      "inputs-used-beside-merge", rule: "9", "inputs are used though the whole merge is there",
      in: Place.chain,
      find: "guard let file = try? SegmentFile(numbers, in: directory), try file.isWhole else {",
      plant:
        "guard !PLANTED, let file = try? SegmentFile(numbers, in: directory), try file.isWhole else {",
      killedBy: .rules("rule 9: a whole merged file stands")),
    PlantedBug(
      "short-segment-ignored", rule: "10", "a segment may be shorter than its successor says",
      in: Place.chain,
      find: "if size < claim.offset { noteMissing(file, size, claim.offset) }",
      plant: "if !PLANTED, size < claim.offset { noteMissing(file, size, claim.offset) }",
      killedBy: .rules("rule 10: a segment that is shorter")),
    PlantedBug(
      "merged-end-not-compared", rule: "10",
      "a merged file need not end where its successor begins",
      in: Place.chain,
      find: """
        claim.commit != merge.end.commit
        || claim.chain != merge.end.chain
        """,
      plant: "!PLANTED, claim.commit != merge.end.commit || claim.chain != merge.end.chain",
      killedBy: .rules("rule 10: a merged file must end")),
    PlantedBug(
      "foreign-segment-taken", rule: "10", "a segment of another store is taken up",
      in: Place.chain,
      find:
        "if let first = files.first, header.preamble.storeID != first.header.preamble.storeID {",
      plant:
        "if !PLANTED, let first = files.first, header.preamble.storeID != first.header.preamble.storeID {",
      killedBy: .rules("a file of another store")),
    PlantedBug(
      "head-salt-ignored", rule: "10", "HEAD is believed of a segment with another salt",
      in: Place.recovery,
      find: "let isOfLast = number == header.numbers.upperBound && salt == header.preamble.salt",
      plant: """
        let isOfLast =
          number == header.numbers.upperBound && (PLANTED || salt == header.preamble.salt)
        """,
      killedBy: .rules("rule 10: HEAD speaks of the segment")),
    PlantedBug(
      "flushed-size-not-stated", rule: "11", "a header does not say what was logged again",
      in: Place.writer,
      find: "flushedSize: UInt64(SegmentHeader.size) + (reappend?.size ?? 0), merge: nil)",
      plant:
        "flushedSize: UInt64(SegmentHeader.size) + (PLANTED ? 0 : reappend?.size ?? 0), merge: nil)",
      killedBy: .rules("rule 11: what was logged again")),
    PlantedBug(
      "flushed-size-ignored", rule: "11", "nobody asks a header what was logged again",
      in: Place.recovery,
      find: "if segment.header.flushedSize > end.offset {",
      plant: "if !PLANTED, segment.header.flushedSize > end.offset {",
      killedBy: .rules("rule 11: what was logged again")),
    PlantedBug(
      "head-number-ignored", rule: "11", "HEAD may name a segment that is not there",
      in: Place.recovery,
      find: "commit: number > header.numbers.upperBound",
      plant: "commit: !PLANTED && number > header.numbers.upperBound",
      killedBy: .rules("rule 11: losing the newest segment")),
    PlantedBug(
      "head-watermark-ignored", rule: "12", "HEAD is not asked how far the log was durable",
      in: Place.logOpening,
      find: "if let head { watermarks.append(LogRecovery.Watermark(head, about: last)) }",
      plant:
        "if !PLANTED, let head { watermarks.append(LogRecovery.Watermark(head, about: last)) }",
      killedBy: .rules("rule 12: a log that ends before what HEAD knows")),
    PlantedBug(
      "marks-ignored", rule: "promise 5", "FLUSHED is not asked how far the log was durable",
      in: Place.logOpening,
      find: "watermarks += marks.compactMap { LogRecovery.Watermark($0, about: last) }",
      plant:
        "if !PLANTED { watermarks += marks.compactMap { LogRecovery.Watermark($0, about: last) } }",
      killedBy: .rules("promise 5: of a log that was not closed no commit that was acknowledged")),
    PlantedBug(
      "mark-of-another-store-believed", rule: "promise 5", "FLUSHED may be of another store",
      in: Place.recovery,
      find: "guard mark.preamble.storeID == last.header.preamble.storeID else { return nil }",
      plant: """
        guard PLANTED || mark.preamble.storeID == last.header.preamble.storeID else { return nil }
        """, killedBy: .rules("FLUSHED is believed of its own store")),
    PlantedBug(
      "one-mark-only", rule: "promise 5", "the mark before is overwritten, too",
      in: Place.marks,
      find: "state.newest = slot", plant: "if !PLANTED { state.newest = slot }",
      killedBy: .rules("one of the marks of FLUSHED may be torn")),
    PlantedBug(
      "marks-not-made", rule: "promise 5", "nothing makes the file again that could not be made",
      in: Place.writer,
      find: "if !isClosed { marks.makeFile(through: watermark) }",
      plant:
        "if !isClosed, !PLANTED || watermark.commit == 0 { marks.makeFile(through: watermark) }",
      killedBy: .rules("a commit does not fail because of FLUSHED")),
    PlantedBug(
      "checkpoint-watermark-ignored", rule: "12", "nor is a checkpoint that lost its files",
      in: Place.logOpening,
      find: "watermarks += evidence.filter { $0.storeID == storeID }.map(\\.watermark)",
      plant:
        "if !PLANTED { watermarks += evidence.filter { $0.storeID == storeID }.map(\\.watermark) }",
      killedBy: .rules("rule 12: a log without the segment")),
    PlantedBug(
      "short-of-checkpoint-ignored", rule: "12",
      "the log may end before the checkpoint's place in it",
      in: Place.recovery,
      find: "if UInt64(size) < end.offset {", plant: "if !PLANTED, UInt64(size) < end.offset {",
      killedBy: .rules("rule 12: a log that ends before its checkpoint")),
  ]
}
