import Divan
import DivanLog

/// Reads pages of the index.
///
/// The input is pages of the same size, followed by ``tailSize`` bytes with the page size and the
/// position of the root.
enum FuzzPages {
  // Page size (1), root (1), level (1), filter page (1), filter blocks (2), and two unused bytes.
  static let tailSize = 8
  static let pageSizes = [256, 512, 1024, CheckpointHeader.pageSize]

  static func read(_ input: [UInt8]) throws {
    guard input.count >= tailSize else { return }
    let tail = Array(input.suffix(tailSize))
    let pageSize = pageSizes[Int(tail[0]) % pageSizes.count]
    let pages = SharedBytes(copying: Array(input.dropLast(tailSize)))
    let root = InspectedRun.Root(
      page: UInt32(tail[1]), level: Int(tail[2]) % 34, filterPage: UInt32(tail[3]),
      filterBlocks: UInt32(tail[4]) | UInt32(tail[5]) << 8)
    // Each page by itself as a leaf, then the tree.
    for number in 0..<pages.count / pageSize {
      let leaf = InspectedRun.Root(
        page: UInt32(number), level: 0, filterPage: root.filterPage,
        filterBlocks: root.filterBlocks)
      if let run = InspectedRun(pages: pages, pageSize: pageSize, root: leaf) { try read(run) }
    }
    if let run = InspectedRun(pages: pages, pageSize: pageSize, root: root) { try read(run) }
  }

  private static func read(_ run: InspectedRun) throws {
    let isTree = run.hasSoundInnerPages
    let limit = 20_000
    let (up, isWhole) = run.entries(descending: false, limit: limit)
    let (down, isWholeDown) = run.entries(descending: true, limit: limit)
    for (previous, next) in zip(up, up.dropFirst()) {
      try expect(isBelow(previous.key, next.key), "keys do not rise")
    }
    for (previous, next) in zip(down, down.dropFirst()) {
      try expect(isBelow(next.key, previous.key), "keys do not fall")
    }
    for entry in up.prefix(400) {
      _ = run.value(of: entry.key)
      _ = run.mayContain(entry.key)
      _ = run.value(of: SharedBytes(copying: entry.key.array + [0]))
    }
    _ = run.value(of: .empty)
    _ = run.value(of: SharedBytes(copying: [UInt8](repeating: 255, count: 300)))
    guard isTree, isWhole, isWholeDown, up.count < limit else { return }
    try expect(
      up.count == down.count
        && zip(up, down.reversed()).allSatisfy { $0.key == $1.key && $0.value == $1.value },
      "the two directions differ")
  }

  private static func isBelow(_ a: SharedBytes, _ b: SharedBytes) -> Bool {
    a.array.lexicographicallyPrecedes(b.array)
  }
}
