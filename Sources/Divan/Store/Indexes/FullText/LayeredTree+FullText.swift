import DivanLog

extension LayeredTree {
  /// Returns the tables of a full-text index in this tree.
  func tables(of definition: IndexDefinition) -> FullTextTables {
    FullTextTables(
      tree: self, keys: FullTextKeys(definition.number), fieldCount: definition.index.paths.count)
  }

  /// Removes the first keys with a prefix, up to a number of them; returns whether none is left.
  mutating func removeSome(withPrefix prefix: [UInt8], limit: Int) throws(PageError) -> Bool {
    var scan = scan(from: .inclusive(prefix), to: .end(ofPrefix: prefix))
    var obsolete: [[UInt8]] = []
    while obsolete.count < limit, let item = try scan.next() { obsolete.append(item.key.array) }
    for key in obsolete { remove(key.span) }
    return obsolete.count < limit
  }
}
