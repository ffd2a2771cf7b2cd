internal import DivanLog

extension Node {
  /// Returns a node with the entries of `range`, and room for `extra` bytes if `limit` allows.
  ///
  /// The first child of an inner node is the one left of the range's first separator.
  func rebuilt(_ range: Range<Int>, extra: Int, limit: Int) -> Node {
    assert(range.upperBound <= page.count)
    let page = self.page
    var needed = NodePage.headerSize
    if range.count == page.count {
      needed = usedSize
    } else {
      for index in range { needed += page.entry(index).size + NodePage.slotSize }
    }
    if needed + extra <= limit { needed += extra }
    let node = Node.make(level: level, capacity: Node.capacity(for: needed, limit: limit))
    node.writer.fill(from: page, range, sourceCapacity: pageCapacity)
    node.copyFirstChild(range.lowerBound, of: self)
    node.retainChildren()
    return node
  }

  /// Returns a copy of the whole node without garbage.
  func rebuilt(extra: Int, limit: Int) -> Node {
    rebuilt(0..<page.count, extra: extra, limit: limit)
  }

  /// Returns the page size for content of `needed` bytes.
  ///
  /// Pages grow in steps of an eighth. A leaf that was just split takes little more than its
  /// content, at the price of a few copies until it is full.
  static func capacity(for needed: Int, limit: Int) -> Int {
    let step = max(limit / 8, 1)
    return max(needed, min(limit, (needed + step - 1) / step * step))
  }

  /// Returns one node with the entries of this one and of its right neighbour.
  ///
  /// `separator` is the one between them in their parent.
  func merged(with right: Node, separator: BorrowedBytes, limit: Int) -> Node {
    let isLeaf = level == 0
    let between = isLeaf ? 0 : Node.entrySize(separator.count, Node.childValueLength)
    let needed = usedSize + right.usedSize - NodePage.headerSize + between
    let node = Node.make(level: level, capacity: Node.capacity(for: needed, limit: limit))
    let writer = node.writer
    writer.append(from: page, 0..<page.count)
    node.copyFirstChild(0, of: self)
    node.retainChildren()
    if !isLeaf {
      let middle = right.child(0)
      node.insertChild(middle, separator: separator, at: page.count)
    }
    let own = node.page.count
    writer.append(from: right.page, 0..<right.page.count)
    node.retainChildren(from: own + 1)
    writer.setPrefix(node.page.commonPrefixLength(in: 0..<node.page.count))
    return node
  }

  /// The number of bytes that an entry takes in a page, with its head and slot.
  static func entrySize(_ keyLength: Int, _ valueLength: Int) -> Int {
    NodeEntry.size(keyLength: keyLength, valueLength: valueLength) + NodePage.slotSize
  }
}
