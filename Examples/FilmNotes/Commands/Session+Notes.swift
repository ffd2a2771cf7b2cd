import Divan
import Foundation

/// Notes and posters.
extension Session {
  func note(_ command: Command) async throws {
    let work = try library.work(command.words[0])
    let note = Note(in: library.context)
    note.work = work
    note.text = command.words[1]
    note.tags = command.values("tag")
    note.date = try command.date("on") ?? Date.now
    if let rating = try command.number("rating", Double.self) {
      note.rating = rating
      work.rating = rating
    }
    // The note and the rating of the work are one change, which `undo` undoes as a whole.
    try await library.context.save()
    print("\(work.line): \(note.line)")
  }

  func notes(_ command: Command) throws {
    let notes = try library.notes(tag: command.value("tag"), since: command.date("since"))
    for note in notes { print("\(note.work?.title ?? "?"), \(note.line)") }
  }

  func poster(_ command: Command) async throws {
    let work = try library.work(command.words[0])
    if let path = command.words.dropFirst().first {
      let poster = try await PosterFiles.store(path, in: library.database)
      work.poster = poster
      try await work.save()
      print("Attached \(poster.length) bytes, \(poster.contentType)")
    }
    if let path = command.value("to") {
      guard let poster = work.poster else {
        throw DatabaseError(.notFound, "the work has no poster", documentID: work.id)
      }
      try await poster.write(to: path)
      print("Wrote \(poster.length) bytes")
    }
  }
}
