import Testing

/// Tests that sources, tests and pages use the words of the field, as docs/GLOSSARY.md has them.
struct WordingTests {
  /// Words that make a reader translate, and better ones.
  private static let avoidedWords = [
    "whoever": "the caller, the reader, the writer, you",
    "nobody": "no thread, no process, no caller",
    "somebody": "another process, the caller",
    "anybody": "any thread, any process",
    "anew": "again",
    "told of": "notified of, reported",
    "let go of": "release, drop",
    "lets go of": "releases, drops",
    "for ever": "permanently; never … again",
    "in the midst": "during, in the middle",
    "without a word": "without an error, without a report",
  ]

  /// Coinages of the past, and the terms that replaced them.
  private static let coinages = [
    "StoreState": "Version", "StoreView": "ReadView", "WriteTurn": "WriterLock",
    "MergeJudge": "CompactionFilter", "SegmentMerge": "SegmentCompaction",
    "MergePolicy": "CompactionPolicy", "HeldHistory": "RetainedRevisions",
    "MomentRecord": "CommitPointRecord", "NamedMoment": "NamedCommitPoint",
    "KeptIndex": "IndexDefinition", "DocumentPlace": "DocumentLocation",
    "IndexPlace": "TreeSlot", "EntryPlace": "EntryLocation", "KeyFilter": "BloomFilter",
    "LentBytes": "BorrowedBytes", "LeafStretch": "LeafRange", "QueryRun": "QueryExecution",
    "QueryHit": "QueryCandidate", "QueryAccess": "AccessPath", "QueryEffort": "QueryCost",
    "QueryOutlook": "CostModel", "QueryGuess": "DefaultSelectivity",
    "QueryJudge": "DocumentEvaluator",
    "FilterMemory": "PredicateCache", "FilterVerdict": "MatchResult",
    "RememberedFilter": "CachedPredicate", "IndexWalk": "OrderedIndexScan",
    "ModelExtras": "PendingChanges", "ModelReversal": "RollbackEntry",
    "UnheldModel": "UnownedModel", "Misfit": "TypeMismatch", "DocumentMark": "MetadataProperty",
    "TransactionFollower": "TransactionObserver", "StoreCompanion": "AttachedService",
    "historyFloor": "historyHorizon", "relog": "reappend", "outlook": "cost model",
    "verdict": "match result", "misfit": "type mismatch", "unheld": "unowned",
  ]

  private static let pages =
    ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "Benchmarks/README.md"]

  /// The lines of a folder's sources and pages, without those of the lint itself.
  private func lines(of folder: String) -> [(place: String, text: String)] {
    let tree = SourceTree()
    let files: [SourceTree.File]
    if folder == "." {
      files = tree.files(in: ".", extensions: ["md"]).filter {
        WordingTests.pages.contains(
          $0.path.hasPrefix("./") ? String($0.path.dropFirst(2)) : $0.path)
      }
    } else {
      files = tree.files(in: folder) + tree.files(in: folder, extensions: ["md"])
    }
    return files.filter {
      !$0.path.hasSuffix("WordingTests.swift") && !$0.path.contains("Benchmarks/Peers")
    }
    .flatMap { file in
      file.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().map {
        ("\(file.path):\($0.offset + 1)", String($0.element))
      }
    }
  }

  private static let folders = [
    ".", "Sources", "Tests", "Benchmarks", "Examples", "Integrations", "docs",
  ]

  @Test(arguments: folders)
  func `prose, messages and test names avoid words that need a translation`(folder: String) {
    let lines = lines(of: folder)
    #expect(!lines.isEmpty)
    for (place, text) in lines {
      // Most lines have none of the words, and a search for letters is cheap.
      let lower = text.lowercased()
      for (word, instead) in WordingTests.avoidedWords where lower.contains(word) {
        let padded = " " + lower + " "
        #expect(
          padded.ranges(of: word).allSatisfy { range in
            padded[padded.index(before: range.lowerBound)].isLetter
              || padded[range.upperBound].isLetter
          },
          "\(place) says “\(word)”; say: \(instead)")
      }
    }
  }

  @Test(arguments: folders)
  func `coinages of the past do not come back`(folder: String) {
    for (place, text) in lines(of: folder) {
      // Types of Core Data may have such a name behind their `NS`.
      for (word, instead) in WordingTests.coinages
      where text.contains(word) && !text.contains("NS\(word)") {
        Issue.record("\(place) says “\(word)”; say: \(instead)")
      }
    }
  }
}
