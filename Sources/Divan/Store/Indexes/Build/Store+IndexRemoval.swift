import DivanLog

extension Store {
  /// The number of entries added or removed before other writers get the writer lock.
  ///
  /// Adding that many takes some tenths of a millisecond by estimate. With concurrent writes, or
  /// for a unique index, every document must be looked up, which takes up to ten times as long.
  var indexBuildSliceSize: Int { min(2048, configuration.indexBuildBatchSize) }

  /// Removes everything of an index that was removed.
  func removeIndexEntries(of number: UInt64) throws(DatabaseError) {
    for kind in indexKinds {
      let tree = kind.tree
      let prefix = kind.prefix(of: number)
      let limit = indexBuildSliceSize
      var last: [UInt8]?
      repeat {
        let start = last
        last = try withWriter { (writer) throws(DatabaseError) in
          let (changed, end) = try writer.view(of: self).repairing { (version) throws(PageError) in
            var changed = version.state[keyPath: tree]
            let end = try changed.removeSome(withPrefix: prefix, after: start, limit: limit)
            return (changed, end)
          }
          writer.changeNewest { $0[keyPath: tree] = changed }
          return end
        }
        writeCheckpointIfLarge()
      } while last != nil
    }
  }
}
