/// The map function of a view that the current task is running.
///
/// Other threads may wait for its rows while they hold the writer lock. So it must not wait for
/// another thread.
enum MapFunctionGuard {
  /// The name of its view.
  static let view = TaskLocal<String?>(wrappedValue: nil)

  /// Throws if the current task runs a map function.
  static func refuse(_ action: String) throws(DatabaseError) {
    guard let view = view.get() else { return }
    throw DatabaseError(
      .viewFailed, "the map function of the view \"\(view)\" \(action)",
      hint: "A map function may use only the document that it gets")
  }
}
