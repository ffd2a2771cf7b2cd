import DivanLog

extension Snapshot {
  /// The position after everything that is in this snapshot, as a value that can be kept anywhere.
  ///
  /// Read the snapshot, and then follow ``Database/changeFeed(since:where:)-(FeedPosition,_)``: no
  /// change is missed.
  public var feedPosition: FeedPosition {
    FeedPosition(storeID: "\(view.environment.storeID)", sequence: sequence)
  }
}
