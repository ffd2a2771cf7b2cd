import Testing

/// Tests that comments avoid words that are not those of the field.
struct WordingTests {
  /// Each word, and better ones.
  private static let avoided = [
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
    "made anew": "rebuilt",
  ]

  private static let folders = ["Sources", "Tests", "Benchmarks"]

  @Test(arguments: folders)
  func `comments use the field's words`(folder: String) {
    for file in SourceTree().files(in: folder) {
      for (index, line) in file.text.split(separator: "\n", omittingEmptySubsequences: false)
        .enumerated()
      {
        let text = line.drop { $0 == " " }
        guard text.hasPrefix("//") else { continue }
        let padded = " " + text.lowercased() + " "
        for (word, instead) in WordingTests.avoided {
          #expect(
            padded.ranges(of: word).allSatisfy { range in
              padded[padded.index(before: range.lowerBound)].isLetter
                || padded[range.upperBound].isLetter
            },
            "\(file.path):\(index + 1) says “\(word)”; say: \(instead)")
        }
      }
    }
  }
}
