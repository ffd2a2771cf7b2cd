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

  /// The sources and pages of a folder, without those of the lint itself.
  private func files(of folder: String) -> [SourceTree.File] {
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
  }

  /// The lines of a file with each of the words that occur in it.
  ///
  /// Most files have none, and looking at the lines of a file takes much longer than a search.
  private func lines(
    of file: SourceTree.File, with search: WordSearch
  ) -> [(word: String, place: String, text: String)] {
    let found = search.words(in: file.text)
    guard !found.isEmpty else { return [] }
    return file.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
      .flatMap { index, line in
        found.map { ($0, "\(file.path):\(index + 1)", String(line)) }
      }
  }

  private static let folders = [
    ".", "Sources", "Tests", "Benchmarks", "Examples", "Integrations", "docs",
  ]

  @Test(arguments: folders)
  func `prose, messages and test names avoid words that need a translation`(folder: String) {
    let files = files(of: folder)
    #expect(!files.isEmpty)
    let search = WordSearch(WordingTests.avoidedWords.keys)
    for (word, place, text) in files.flatMap({ lines(of: $0, with: search) }) {
      let padded = " " + text.lowercased() + " "
      #expect(
        padded.ranges(of: word).allSatisfy { range in
          padded[padded.index(before: range.lowerBound)].isLetter
            || padded[range.upperBound].isLetter
        },
        "\(place) says “\(word)”; say: \(WordingTests.avoidedWords[word] ?? "")")
    }
  }

  @Test(arguments: folders)
  func `coinages of the past do not come back`(folder: String) {
    let search = WordSearch(WordingTests.coinages.keys)
    for (word, place, text) in files(of: folder).flatMap({ lines(of: $0, with: search) }) {
      // Types of Core Data may have such a name behind their `NS`.
      if text.contains(word) && !text.contains("NS\(word)") {
        Issue.record("\(place) says “\(word)”; say: \(WordingTests.coinages[word] ?? "")")
      }
    }
  }

  @Test func `a word is found wherever it begins, in any case, and as a part of another`() {
    let search = WordSearch(["plum", "pear tree", "apricot"])
    #expect(search.words(in: "") == [])
    #expect(search.words(in: "pplum") == ["plum"])
    #expect(search.words(in: "PlumPeartree") == ["plum"])
    #expect(search.words(in: "“Apricot” pear\ntree, pear  tree, apri cot, plu") == ["apricot"])
    #expect(search.words(in: "– pear tree") == ["pear tree"])
    #expect(search.words(in: "pear tre") == [])
  }
}
