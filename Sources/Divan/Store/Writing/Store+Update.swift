extension Store {
  enum Attempt {
    case stored(Document)
    case missing
    /// The document was changed since it was read.
    case conflict
  }

  func attemptUpdate(
    of id: String, _ durability: Durability?, _ change: (inout Document) throws -> Void
  ) throws -> Attempt {
    guard let document = try view().document(id) else { return .missing }
    var changed = document
    try change(&changed)
    // A transaction that changes nothing returns once the version that it read is visible to all
    // readers. So the next attempt reads the revision that this one was in conflict with.
    return try write(durability: durability ?? configuration.durability, timeout: nil) {
      transaction in
      let current = try transaction.entry(of: id)
      guard current?.revision == document.revision else { return .conflict }
      return .stored(
        try transaction.put(&changed, unlessEqualTo: document) ? changed : document)
    }
  }
}
