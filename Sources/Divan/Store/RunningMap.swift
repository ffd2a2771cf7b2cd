/// The function of a view that is being called by a task.
///
/// Others may wait for the rows that it makes, with the turn to write: so it must wait for nobody.
enum RunningMap {
  /// The name of its view.
  static let view = TaskLocal<String?>(wrappedValue: nil)

  /// Throws if what is about to be done is asked for by such a function.
  static func refuse(_ deed: String) throws(DatabaseError) {
    guard let view = view.get() else { return }
    throw DatabaseError(
      .viewFailed, "the map function of the view \"\(view)\" \(deed)",
      hint: "Rows may depend on their document only")
  }
}
