import DivanLog

extension LayeredTree {
  /// Removes keys with a prefix after a key, up to a number of them.
  ///
  /// Returns the last key that was removed, after which there may be more; nil if there are none.
  mutating func removeSome(
    withPrefix prefix: [UInt8], after last: [UInt8]?, limit: Int
  ) throws(PageError) -> [UInt8]? {
    // Not from the beginning again: tombstones of the removed keys are there.
    var scan = scan(
      from: last.map { .exclusive($0) } ?? .inclusive(prefix), to: .end(ofPrefix: prefix))
    var obsolete: [[UInt8]] = []
    while obsolete.count < limit, let item = try scan.next() { obsolete.append(item.key.array) }
    for key in obsolete { remove(key.span) }
    return obsolete.count < limit ? nil : obsolete.last
  }
}
