/// Seeds that once found a bug: they are always tried first.
package enum FoundSeeds {
  package struct Found: Sendable {
    package let proof: String
    package let seed: UInt64
    package let story: String
  }

  /// One line for each seed: the proof, the seed, and the bug that it found.
  private static let list = """
    random 7 a segment begun by a transaction that failed was forgotten by the next checkpoint
    random 17 compacted segments were replayed on a checkpoint older than their merge
    random 37 the same, with a checkpoint that the merge had taken the file from
    random 136 the same
    random 166 HEAD went on saying closed after a segment was begun
    random 780 a sequence number that only a trailer before the checkpoint had reserved was used twice
    """

  package static let all: [Found] = list.split(separator: "\n").compactMap { line in
    let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
    guard parts.count == 3, let seed = UInt64(parts[1]) else { return nil }
    return Found(proof: parts[0], seed: seed, story: parts[2])
  }
}
