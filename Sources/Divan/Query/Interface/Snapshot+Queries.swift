extension Snapshot: QuerySource {
  /// Returns this version.
  public func _queryView(of _: Any.Type) throws -> _QueryView { _QueryView(view: view) }
}
