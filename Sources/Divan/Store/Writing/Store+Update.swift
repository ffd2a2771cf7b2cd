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
    let durability = durability ?? configuration.durability
    var isUnchanged = false
    let attempt = try write(durability: durability, timeout: nil) { transaction -> Attempt in
      let current = try transaction.view.entry(id)
      guard current?.revision == document.revision else { return .conflict }
      isUnchanged = try !transaction.put(&changed, unlessEqualTo: document)
      return .stored(isUnchanged ? document : changed)
    }
    // Without a commit, what was read may come from one that is not flushed yet.
    if isUnchanged, case .full = durability { try flush() }
    return attempt
  }
}
