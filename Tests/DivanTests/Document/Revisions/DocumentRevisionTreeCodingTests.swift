import DivanLog
import Testing

@testable import Divan

extension RevisionTree {
  /// The stored form.
  var stored: SharedBytes {
    var writer = ByteWriter()
    encode(into: &writer)
    return writer.sharedCopy
  }

  /// Reads a stored form and requires that nothing follows it.
  init(stored bytes: SharedBytes) throws {
    var reader = ByteReader(bytes)
    try self.init(from: &reader)
    #expect(reader.isAtEnd)
  }

  func copyByCoding() throws -> RevisionTree { try RevisionTree(stored: stored) }

  /// A tree of a few histories, some of which share revisions.
  static func random(_ random: inout SeededRandom) throws -> RevisionTree {
    var tree = RevisionTree()
    for sequence in 0..<UInt64.random(in: 0...8, using: &random) {
      let start = UInt64.random(in: 1...5, using: &random)
      let digests: [String] = (0..<Int.random(in: 1...Int(start), using: &random)).map { _ in
        let digit = String("abc".randomElement(using: &random) ?? "a")
        return Bool.random(using: &random) ? digit : String(repeating: digit, count: 32)
      }
      tree.insert(
        try RevisionPathForm(start: start, ids: digests).path, isDeleted: .random(using: &random),
        isForeignEdit: .random(using: &random), sequence: sequence * 1000)
    }
    return tree
  }
}

/// Reads arbitrary bytes: they are refused, or are the one stored form of a sound tree.
private func probe(_ bytes: [UInt8]) {
  var reader = ByteReader(SharedBytes(copying: bytes))
  guard let tree = try? RevisionTree(from: &reader) else { return }
  // No query of such a tree may trap.
  for leaf in tree.leaves { _ = tree.history(of: leaf) }
  var pruned = tree
  _ = pruned.prune(toDepth: 2)
  var removed = pruned
  if let winner = pruned.winner { _ = removed.removeLeaf(at: winner) }
  let problems = [tree, pruned, removed].compactMap(\.problem)
  let isCanonical = tree.stored.array == Array(bytes[..<reader.offset])
  if !problems.isEmpty || !isCanonical { Issue.record("\(bytes): \(problems)") }
}

struct DocumentRevisionTreeCodingTests {
  @Test func `a tree's stored form matches the documented format`() throws {
    var tree = RevisionTree(
      try RevisionTree.Path(
        RevisionID(parsing: "3-c"),
        ancestors: [
          RevisionID(parsing: "2-00112233445566778899aabbccddeeff"), RevisionID(parsing: "1-a"),
        ].map(\.digest)), isDeleted: true, isForeignEdit: true, sequence: 300)
    try tree.insert(RevisionPathForm("2-b,a"))
    try tree.insert(RevisionPathForm("7-é"), sequence: 5)
    #expect(
      tree.stored.array == [
        5,  // nodes
        24, 1, 1, 0x61,  // 1-a, a root
        0, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,  // its child
        0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF,
        15, 1, 0x63, 0xAC, 0x02,  // 3-c, deleted, external, with a payload
        40, 1, 1, 0x62,  // 2-b, one generation below 3-c
        28, 7, 2, 0xC3, 0xA9, 5,  // 7-é, a root with a payload
      ])
    #expect(try tree.copyByCoding() == tree)
    #expect(RevisionTree().stored.array == [0])
  }

  @Test(
    arguments: [
      [], [1], [2, 24, 1, 1, 0x61],  // too short
      [0x80, 0x00],  // a count in two bytes
      [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 24, 1, 1, 0x61],
      [1, 8, 1, 0x61],  // a first revision without a generation
      [1, 40, 0, 1, 0x61],  // a first branch
      [1, 56, 1, 1, 0x61], [1, 88, 1, 1, 0x61], [1, 152, 1, 1, 0x61],  // unknown flags
      [1, 24, 0, 1, 0x61],  // generation 0
      [1, 24, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 1, 0x61],
      // A child of the last generation.
      [2, 24, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 1, 0x61, 8, 1, 0x61],
      [1, 24, 1, 0], [1, 24, 1, 1, 0xFF],  // no digest, no text
      [1, 24, 1, 32] + Array(repeating: 0x61, count: 32),  // an own digest as an external one
      [1, 24, 1, 32] + Array(repeating: 0x41, count: 32),
      [1, 24, 1, 0x81, 0x02] + Array(repeating: 0x61, count: 257),  // too long
      [1, 28, 1, 1, 0x61, 0],  // a payload in record 0
      [1, 28, 1, 1, 0x61, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10],
      // Roots out of order.
      [2, 24, 1, 1, 0x62, 24, 1, 1, 0x61], [2, 24, 1, 1, 0x61, 24, 1, 1, 0x61],
      [2, 24, 2, 1, 0x61, 24, 1, 1, 0x61],
      [3, 24, 1, 1, 0x61, 8, 1, 0x62, 40, 0, 1, 0x61],  // siblings out of order
      [3, 24, 1, 1, 0x61, 8, 1, 0x62, 40, 0, 1, 0x62],
      [2, 24, 1, 1, 0x61, 40, 0, 1, 0x62],  // a sibling of a root
      [3, 24, 1, 1, 0x61, 8, 1, 0x62, 40, 1, 1, 0x63],
      [3, 24, 1, 1, 0x61, 8, 1, 0x62, 40, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 1, 0x63],
      [3, 24, 1, 1, 0x61, 8, 1, 0x62, 24, 2, 1, 0x62],  // a root that also occurs below another
    ] as [[UInt8]])
  func `invalid and non-canonical encodings of a tree are refused`(bytes: [UInt8]) {
    #expect(throws: ByteError.self) {
      var reader = ByteReader(SharedBytes(copying: bytes))
      _ = try RevisionTree(from: &reader)
    }
  }

  @Test func `a stored tree with changed or missing bytes is refused or reads as a sound tree`()
    throws
  {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<10 {
      let tree = try RevisionTree.random(&random)
      #expect(try tree.copyByCoding() == tree)
      let bytes = tree.stored.array
      for index in bytes.indices {
        probe(Array(bytes[..<index]))
        var changed = bytes
        for mask: UInt8 in [1, 2, 4, 8, 16, 32, 0x80, 0xFF] {
          changed[index] = bytes[index] ^ mask
          probe(changed)
        }
      }
      probe(bytes + [0])
    }
  }

  @Test func `random bytes are refused or read as a sound tree`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<5_000 {
      // Small numbers make more trees than random bytes would.
      let nodes = (0..<Int.random(in: 0...6, using: &random)).flatMap { _ -> [UInt8] in
        let flags = [8, 12, 24, 24, 40, 40].randomElement(using: &random) ?? 0
        let generation = flags & 48 == 0 ? [] : [UInt8.random(in: 0...3, using: &random)]
        let digest = [1, UInt8.random(in: 0x61...0x63, using: &random)]
        return [UInt8(flags)] + generation + digest + (flags & 4 == 0 ? [] : [7])
      }
      probe([UInt8.random(in: 0...6, using: &random)] + nodes)
      probe((0..<30).map { _ in UInt8.random(in: 0...255, using: &random) })
    }
  }

  @Test func `digests with a common first half do not make reading a tree slow`() throws {
    // All with the same first half, as an attacker may choose them.
    var writer = ByteWriter()
    writer.appendVarint(20_000)
    for index in 0..<UInt64(20_000) {
      writer.append(16 as UInt8)
      writer.appendVarint(index < 10_000 ? 1 : 2)
      writer.append(7 as UInt64)
      writer.append(index.bigEndian)
    }
    let bytes = writer.sharedCopy
    let start = ContinuousClock.now
    let tree = try RevisionTree(stored: bytes)
    #expect(tree.rootCount == 20_000)
    #expect(start.duration(to: .now) < .seconds(20), "their hashes collide")
  }
}
