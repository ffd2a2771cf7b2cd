import DivanLog

extension QueryExecution {
  /// The number of ranked matches that are probably examined; nil for all.
  var expectedMatchCount: Int? {
    guard let wanted, let rows = plan.estimate?.rows else { return nil }
    return max(wanted, Int(min(rows.rounded(.up), 1e9)))
  }
}
