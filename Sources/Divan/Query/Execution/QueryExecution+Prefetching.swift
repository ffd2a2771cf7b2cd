import DivanLog

extension QueryExecution {
  /// Looks up candidates, and prefetches their records if they are read.
  ///
  /// It is a method of the execution, so that the read view is borrowed; others would copy it
  /// first.
  func fill(_ batch: inout PrefetchBatch, areRead: Bool) throws(DatabaseError) {
    try batch.lookUp(in: view)
    if areRead { batch.prefetchRecords(in: view) }
  }
}
