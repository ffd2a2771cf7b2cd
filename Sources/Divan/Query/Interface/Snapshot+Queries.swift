extension Snapshot: QuerySource {
  /// Returns this version.
  public func _queryView() throws -> _QueryView { _QueryView(view: view) }
}
