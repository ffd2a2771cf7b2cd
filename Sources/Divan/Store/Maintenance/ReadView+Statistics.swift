import DivanLog
import Synchronization

extension ReadView {
  /// Returns the number of keys in a tree with a prefix, and the total size of their records.
  func sizes(
    in tree: KeyPath<Version, LayeredTree>, prefix: [UInt8]
  ) throws(DatabaseError) -> (count: Int, size: Int) {
    var scan = state[keyPath: tree].scan(from: .inclusive(prefix), to: .end(ofPrefix: prefix))
    var (count, size) = (0, 0)
    while let item = try step(&scan) {
      count += 1
      size += Int(try decodeLocator(item).size)
    }
    return (count, size)
  }
}
