import Divan

/// The migrations of stores that earlier versions of this program made.
///
/// Version 1 had films with a text `note`, a date `seen`, and `stars` from 1 to 10. Version 2 has
/// a rating from 0 to 5, and any number of notes about each work.
enum Migrations {
  /// All migrations, in the order in which they run.
  ///
  /// Their IDs never change, and none is ever removed: a backup may need it.
  static let all = [ratingsAndNotes]

  static let ratingsAndNotes = Migration(id: "2-ratings-and-notes") { transaction in
    // Documents, not models, so that the migration stays the same when the classes change.
    let films = Query<Document>().filter {
      $0["type"] == "Film" && (!$0["stars"].isMissing || !$0["note"].isMissing)
    }
    for var film in try transaction.find(films) {
      let properties = film.properties
      // A value of another type stays as it is, and the program does not show it.
      if let stars = film["stars"]?.doubleValue {
        film["rating"] = .double(stars / 2)
        film["stars"] = nil
      }
      if let text = film["note"]?.stringValue {
        if !text.isEmpty { try addNote(text, about: film, in: transaction) }
        film["note"] = nil
        film["seen"] = nil
      }
      if film.properties != properties { try transaction.put(film) }
    }
  }

  private static func addNote(
    _ text: String, about film: Document, in transaction: WriteTransaction
  ) throws {
    // The ID is the same on each device, so two devices do not make two notes of one text.
    let id = "note:" + film.id
    guard try !transaction.exists(id) else { return }
    var note = Document(
      id: id, ["type": "Note", "work": .string(film.id), "text": .string(text)])
    note["date"] = film["seen"]
    note["rating"] = film["rating"]
    try transaction.put(note)
  }
}
