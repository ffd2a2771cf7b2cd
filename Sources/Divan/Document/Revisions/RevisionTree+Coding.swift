import DivanLog

// The stored form: FILE_FORMAT.md §9. Each tree has only one form, and reading rejects all others.

extension RevisionTree {
  private struct Flags: OptionSet {
    let rawValue: UInt8
    static let deleted = Flags(rawValue: 1)
    static let foreignEdit = Flags(rawValue: 2)
    static let record = Flags(rawValue: 4)
    static let foreignDigest = Flags(rawValue: 8)
    static let root = Flags(rawValue: 16)
    static let branch = Flags(rawValue: 32)
    static let known: Flags = [.deleted, .foreignEdit, .record, .foreignDigest, .root, .branch]
  }

  /// The minimum number of bytes of a node.
  private static let leastNodeSize = 3

  /// Appends the stored form.
  func encode(into writer: inout ByteWriter) {
    writer.appendVarint(nodes.count)
    for (index, node) in nodes.enumerated() {
      var flags: Flags = []
      if node.isDeleted { flags.insert(.deleted) }
      if node.isForeignEdit { flags.insert(.foreignEdit) }
      if node.sequence != 0 { flags.insert(.record) }
      if node.revision.digest.isForeign { flags.insert(.foreignDigest) }
      if node.parentIndex == RevisionTree.noParent {
        flags.insert(.root)
      } else if Int(node.parentIndex) != index - 1 {
        flags.insert(.branch)
      }
      writer.append(flags.rawValue)
      if flags.contains(.root) { writer.appendVarint(node.revision.generation) }
      if flags.contains(.branch) {
        writer.appendVarint(nodes[index - 1].revision.generation - node.revision.generation)
      }
      switch node.revision.digest.kind {
      case .own(let high, let low):
        writer.append(high.bigEndian)
        writer.append(low.bigEndian)
      case .foreign(let text):
        withUTF8(of: text) { text in
          writer.appendVarint(text.count)
          writer.append(text)
        }
      }
      if flags.contains(.record) { writer.appendVarint(node.sequence) }
    }
  }

  /// Reads the stored form.
  ///
  /// Takes time linear in the number of nodes, and at most 15 times as much memory as the bytes
  /// that are read.
  init(from reader: inout ByteReader) throws(ByteError) {
    self.init()
    let start = reader.offset
    let limit = min(reader.remaining / RevisionTree.leastNodeSize, Int(Int32.max) - 1)
    let count = try reader.readCount(limit: limit)
    nodes.reserveCapacity(count)
    var lastRoot: RevisionID?
    for _ in 0..<count { nodes.append(try readNode(&reader, &lastRoot)) }
    recount()
    guard hasDistinctRoots else {
      throw ByteError(offset: start, reason: "two trees have a revision in common")
    }
  }

  /// Reads the next node, whose parent has been read.
  private func readNode(
    _ reader: inout ByteReader, _ lastRoot: inout RevisionID?
  ) throws(ByteError) -> RevisionNode {
    let offset = reader.offset
    let flags = Flags(rawValue: try reader.read(UInt8.self))
    guard Flags.known.isSuperset(of: flags), !flags.isSuperset(of: [.root, .branch]) else {
      throw ByteError(offset: offset, reason: "the revision has unknown flags")
    }
    var parentIndex = RevisionTree.noParent
    var generation: UInt64
    // The revision that must be lower than this one.
    var sibling: RevisionID?
    if flags.contains(.root) {
      generation = try reader.readVarint()
      sibling = lastRoot
    } else {
      guard !nodes.isEmpty else {
        throw ByteError(offset: offset, reason: "the first revision is not a root")
      }
      var above = nodes.count - 1
      if flags.contains(.branch) {
        let first = try branchBegin(&reader, offset)
        sibling = nodes[first.sibling].revision
        above = first.parent
      }
      generation = nodes[above].revision.generation + 1
      parentIndex = Int32(above)
    }
    let digest = try RevisionTree.readDigest(
      &reader, isForeign: flags.contains(.foreignDigest))
    guard generation >= 1, generation <= RevisionID.generationLimit else {
      throw ByteError(offset: offset, reason: "the generation exceeds the limit")
    }
    let revision = RevisionID(generation: generation, digest: digest)
    if let sibling, sibling >= revision {
      throw ByteError(offset: offset, reason: "the revisions are out of order")
    }
    if flags.contains(.root) { lastRoot = revision }
    var node = RevisionNode(
      revision: revision, isDeleted: flags.contains(.deleted),
      isForeignEdit: flags.contains(.foreignEdit), parentIndex: parentIndex)
    if flags.contains(.record) {
      node.sequence = try reader.readVarint()
      guard node.sequence >= 1, node.sequence <= counterLimit else {
        throw ByteError(offset: offset, reason: "the sequence number exceeds the limit")
      }
    }
    return node
  }

  /// Reads where a branch begins: the node that it branches off from, and that node's last child.
  ///
  /// The branch's own generation follows from its parent.
  private func branchBegin(
    _ reader: inout ByteReader, _ offset: Int
  ) throws(ByteError) -> (parent: Int, sibling: Int) {
    var above = nodes.count - 1
    let steps = try reader.readVarint()
    for _ in 0..<steps {
      guard let parent = parent(of: above) else {
        throw ByteError(offset: offset, reason: "the branch begins above a root")
      }
      above = parent
    }
    guard let parent = parent(of: above) else {
      throw ByteError(offset: offset, reason: "the branch begins above a root")
    }
    return (parent, above)
  }

  private static func readDigest(
    _ reader: inout ByteReader, isForeign: Bool
  ) throws(ByteError) -> RevisionID.Digest {
    guard isForeign else {
      let high = UInt64(bigEndian: try reader.read(UInt64.self))
      return .own(high, UInt64(bigEndian: try reader.read(UInt64.self)))
    }
    let offset = reader.offset
    guard let text = try reader.readPrefixedBytes().text,
      let digest = RevisionID(generation: 1, digest: text)?.digest, digest.isForeign
    else { throw ByteError(offset: offset, reason: "the bytes are not a revision digest") }
    return digest
  }
}
