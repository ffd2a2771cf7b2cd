/// Bugs in full-text indexes.
extension PlantedBug {
  static let texts: [PlantedBug] = [
    PlantedBug(
      "text-keeps-old-terms", rule: "texts", "a document is found by words that it no longer has",
      in: Place.textEdit,
      find: "for term in removed { try set(term.term, number, []) }",
      plant: "for term in removed where !PLANTED { try set(term.term, number, []) }",
      killedBy: .rules("a full-text index follows every")),
    PlantedBug(
      "text-number-not-moved", rule: "texts", "two new documents get the same number",
      in: Place.textEdit,
      find: "figures.nextNumber += UInt64(count)",
      plant: "figures.nextNumber += PLANTED && count == 1 ? 0 : UInt64(count)",
      killedBy: .rules("a full-text index follows every"), symptom: .trap),
    PlantedBug(
      "text-lengths-kept", rule: "texts", "the lengths of a deleted document stay",
      in: Place.textEdit,
      find: "try setLengths(known, nil)",
      plant: "if !PLANTED { try setLengths(known, nil) }",
      killedBy: .rules("a full-text index follows every")),
    PlantedBug(
      "text-not-replayed", rule: "texts", "replay does not update full-text indexes",
      in: Place.indexing,
      find: "try indexChange(of: id, from: old, to: new, in: indexes).apply(to: &self)",
      plant: """
        let followed = PLANTED ? indexes.filter { $0.analyser == nil } : indexes
        try indexChange(of: id, from: old, to: new, in: followed).apply(to: &self)
        """,
      killedBy: .rules("a full-text index is updated by the log")),
    PlantedBug(
      "text-built-with-old", rule: "texts",
      "the build adds words of documents that have changed since they were read",
      in: Place.textDrop,
      find: "if let index = indexes[id.array] { items.insert(index) }",
      plant: "if !PLANTED, let index = indexes[id.array] { items.insert(index) }",
      killedBy: .rules("a full-text index has what is written")),
    PlantedBug(
      "text-built-with-purged", rule: "texts",
      "after a purge, the build adds words of documents that have changed since they were read",
      in: Place.textDrop,
      find: """
        if try newest.newestEntry(item.id)?.sequence != item.sequence { items.insert(index) }
        """,
      plant: """
        if try newest.newestEntry(item.id)?.sequence != item.sequence, !PLANTED {
          items.insert(index)
        }
        """,
      killedBy: .rules("a full-text index has what is written")),
    PlantedBug(
      "text-block-split-loses", rule: "texts", "the second half of a divided block is lost",
      in: Place.textEdit,
      find: "put(key(term, found.first + upper.first), upper.block.bytes)",
      plant: "if !PLANTED { put(key(term, found.first + upper.first), upper.block.bytes) }",
      killedBy: .rules("a term of many documents is found in each")),
    PlantedBug(
      "text-number-after-change", rule: "texts",
      "the document after a changed one keeps its distance to the one before",
      in: Place.postingsBlock,
      find: "least: occurrences.isEmpty ? place.least : number + 1,",
      plant: "least: occurrences.isEmpty || PLANTED ? place.least : number + 1,",
      killedBy: .rules("a term of many documents is found in each")),
    PlantedBug(
      "text-block-skipped", rule: "texts", "a search skips the block that it looks for",
      in: Place.storedTerms,
      find: "if blocks[middle].last < target { next = middle + 1 } else { end = middle }",
      plant:
        "if blocks[middle].last < target || PLANTED { next = middle + 1 } else { end = middle }",
      killedBy: .rules("a term of many documents is found in each")),
    PlantedBug(
      "text-orphans-not-noted", rule: "texts",
      "numbers that have no document any more are counted",
      in: Place.textEdit,
      find: "case .unknown: figures.hasOrphans = figures.hasOrphans || known != nil",
      plant: "case .unknown: figures.hasOrphans = figures.hasOrphans || known != nil && !PLANTED",
      killedBy: .rules("words of a document that could not be read")),
    PlantedBug(
      "text-block-not-counted", rule: "texts", "a count leaves a block out",
      in: Place.storedTerms,
      find: "let rest = blocks[min(next + 1, blocks.count)...]",
      plant: "let rest = blocks[min(next + (PLANTED ? 2 : 1), blocks.count)...]",
      killedBy: .rules("words of a document that could not be read")),
    PlantedBug(
      "text-cache-of-beginnings", rule: "texts",
      "a word gets the term of another one that begins alike",
      in: "TermCache.swift",
      find: """
        guard slot.wordLow == word.low, slot.wordHigh == word.high, word.low != 0 else { return false }
        """,
      plant: """
        guard slot.wordLow == word.low, slot.wordHigh == word.high || PLANTED, word.low != 0 else {
          return false
        }
        """,
      killedBy: .rules("words that begin alike are told apart")),
    PlantedBug(
      "text-relevance-without-length", rule: "texts", "long texts count as much as short ones",
      in: Place.relevance,
      find:
        "/ (1 - Self.lengthDiscount + Self.lengthDiscount * Double(length) / averageLengths[field])",
      plant:
        "/ (1 - Self.lengthDiscount + (PLANTED ? Self.lengthDiscount : Self.lengthDiscount * Double(length) / averageLengths[field]))",
      killedBy: .rules("relevance counts words")),
    PlantedBug(
      "text-weights-ignored", rule: "texts", "all properties count the same",
      in: Place.textSearch,
      find: """
        averageLengths: figures.averageLengths,
        weights: request.fieldNames.map { weights[$0] ?? 1 })
        """,
      plant: """
        averageLengths: figures.averageLengths,
        weights: request.fieldNames.map { PLANTED ? 1 : weights[$0] ?? 1 })
        """,
      killedBy: .rules("relevance counts words")),
    PlantedBug(
      "text-signature-moved-ahead", rule: "texts",
      "a phrase is looked for where its words are in the other order",
      in: "PlaceSignature.swift",
      find: "let shift = UInt64(distance) & 63",
      plant: "let shift = UInt64(truncatingIfNeeded: PLANTED ? -distance : distance) & 63",
      killedBy: .rules("a phrase is found")),
    PlantedBug(
      "text-attachments-not-compared", rule: "texts",
      "a change of an attachment alone does not change the index",
      in: "TextAnalyser.swift",
      find: """
        if includesAttachments, !one.attachments.haveSameText(as: other.attachments) { return false }
        """,
      plant: """
        if includesAttachments, !PLANTED,
          !one.attachments.haveSameText(as: other.attachments) { return false }
        """,
      killedBy: .rules("the text of attachments is found")),
    PlantedBug(
      "text-refused-attachment-stops", rule: "texts",
      "an attachment that the system refuses prevents an opening",
      in: Place.attachedTexts,
      find: "guard error.concernsAttachmentAlone else { throw error }",
      plant: "guard error.concernsAttachmentAlone, !PLANTED else { throw error }",
      killedBy: .rules("an opening goes on without an attachment that the system refuses")),
    PlantedBug(
      "text-lost-attachment-known", rule: "texts",
      "words of an attachment that comes back are not added, because the document had it before",
      in: Place.textEdit,
      find: """
        if case .terms(let found) = old, let known, try lengths(of: known) != found?.lengths {
        """,
      plant: """
        if case .terms(let found) = old, let known, !PLANTED,
          try lengths(of: known) != found?.lengths
        {
        """,
      killedBy: .rules("an opening goes on without a lost attachment")),
    PlantedBug(
      "text-purge-needs-attachment", rule: "texts",
      "a leaf is not purged if the attachment of another one is lost",
      in: Place.revisions,
      find: "try addNewestRecord(record, id: id, over: current, isRewrite: true)",
      plant: "try addNewestRecord(record, id: id, over: current, isRewrite: !PLANTED)",
      killedBy: .rules("a document is deleted and a leaf purged")),
  ]
}
