extension WriteTransaction: QuerySource {
  /// Returns the version that the transaction makes.
  public func _queryView(of _: Any.Type) throws -> _QueryView {
    try check()
    return _QueryView(view: view)
  }
}
