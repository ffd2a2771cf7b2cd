/// Seeds that once found a bug: they are tried first, for ever.
package enum FoundSeeds {
  package struct Found: Sendable {
    package let proof: String
    package let seed: UInt64
    package let story: String
  }

  /// A line each: the proof, the seed, and what it found.
  private static let list = """
    """

  package static let all: [Found] = list.split(separator: "\n").compactMap { line in
    let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
    guard parts.count == 3, let seed = UInt64(parts[1]) else { return nil }
    return Found(proof: parts[0], seed: seed, story: parts[2])
  }
}
