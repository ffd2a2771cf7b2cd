import Divan

/// Changes as they happen, changes that are undone, and changes of the past.
extension Session {
  func watch(_ command: Command) throws {
    let watch = WorkWatch(try search(command).query(), in: library.context) { [terminal] line in
      terminal.print(line)
    }
    if let error = watch.error { throw error }
    for line in watch.lines { print("  \(line)") }
    self.watch = watch
  }

  /// A live query ends when it is released.
  func unwatch() { watch = nil }

  func undo() async throws {
    print(try await library.context.undo() ? "Undone" : "There is nothing to undo")
  }

  func redo() async throws {
    print(try await library.context.redo() ? "Redone" : "There is nothing to redo")
  }

  func history(_ command: Command) throws {
    var id = command.words[0]
    do {
      id = try library.work(id).id
    } catch DatabaseError.Code.notFound {
      // A deleted work has no title to search for, but its ID still has a history.
    }
    if let number = try command.number("at", UInt64.self) {
      // A snapshot of the past has models, too. They cannot leave the closure.
      let lines = try library.database.snapshot(at: number).models { context in
        try context.model(Work.self, id: id).map(Session.page)
      }
      for line in lines ?? ["It does not exist in version \(number)"] { print(line) }
      return
    }
    let revisions = try library.database.snapshot().history(of: id)
    guard !revisions.isEmpty else {
      throw DatabaseError(.notFound, "there is no such film or series", documentID: id)
    }
    for (index, revision) in revisions.enumerated() {
      guard let document = revision.document else {
        print("-  \(revision.id) is no longer retained")
        continue
      }
      let earlier = revisions.dropFirst(index + 1).first?.document
      let changes = Session.changes(from: earlier, to: document).joined(separator: ", ")
      print("\(document.sequence)  \(document.isDeleted ? "deleted" : changes)")
    }
  }

  /// What a revision of a document changed in the one before it.
  private static func changes(from earlier: Document?, to later: Document) -> [String] {
    var changes: [String] = []
    for (key, value) in later.properties where earlier?[key] != value {
      changes.append("\(key): \(value.json)")
    }
    for key in (earlier?.properties ?? [:]).keys where later[key] == nil {
      changes.append("no \(key)")
    }
    if later.attachments[Work.posterName] != earlier?.attachments[Work.posterName] {
      changes.append(later.attachments.isEmpty ? "no poster" : "a poster")
    }
    return changes
  }
}
