/// The form of a command, and the function that runs it.
struct CommandForm {
  let name: String
  /// The words after the name, for the help.
  let synopsis: String
  let summary: String
  let wordCount: ClosedRange<Int>
  /// The options that have a value, without hyphens.
  var options: Set<String> = []
  /// The options that have no value.
  var flags: Set<String> = []
  let run: @MainActor (Session, Command) async throws -> Void

  var usage: String { synopsis.isEmpty ? name : "\(name) \(synopsis)" }

  private static let searchOptions: Set = ["genre", "from", "to", "with", "sort", "limit"]
  private static let searchSynopsis =
    "[TEXT] [--genre G] [--from YEAR] [--to YEAR] [--with PERSON] [--sort title|year|rating] [--limit N]"

  /// All commands, in the order of the help.
  static let all: [CommandForm] = [
    CommandForm(
      name: "add",
      synopsis: "film|series TITLE [YEAR] [--by PERSON] [--seasons N] [--genre G] [--with PERSON]",
      summary: "adds a film or a series; --genre and --with can be repeated",
      wordCount: 2...3, options: ["by", "seasons", "genre", "with"]
    ) { try await $0.add($1) },
    CommandForm(
      name: "note", synopsis: "WORK TEXT [--tag TAG] [--on DATE] [--rating 0…5]",
      summary: "adds a note; WORK is a title or an ID", wordCount: 2...2,
      options: ["tag", "on", "rating"]
    ) { try await $0.note($1) },
    CommandForm(
      name: "notes", synopsis: "[--tag TAG] [--since DATE]",
      summary: "lists notes, the newest first",
      wordCount: 0...0, options: ["tag", "since"]
    ) { try $0.notes($1) },
    CommandForm(
      name: "poster", synopsis: "WORK [FILE] [--to FILE]",
      summary: "attaches a poster, or writes it to a file", wordCount: 1...2, options: ["to"]
    ) { try await $0.poster($1) },
    CommandForm(
      name: "list", synopsis: searchSynopsis + " [--only film|series] [--explain]",
      summary: "lists films and series", wordCount: 0...1,
      options: searchOptions.union(["only"]), flags: ["explain"]
    ) { try $0.list($1) },
    CommandForm(
      name: "show", synopsis: "WORK", summary: "shows a film or a series with its notes",
      wordCount: 1...1
    ) { try $0.show($1) },
    CommandForm(
      name: "person", synopsis: "NAME", summary: "shows what a person directed and plays in",
      wordCount: 1...1
    ) { try $0.person($1) },
    CommandForm(
      name: "watch", synopsis: searchSynopsis, summary: "reports changes of a list until `unwatch`",
      wordCount: 0...1, options: searchOptions
    ) { try $0.watch($1) },
    CommandForm(name: "unwatch", synopsis: "", summary: "ends `watch`", wordCount: 0...0) {
      session, _ in session.unwatch()
    },
    CommandForm(
      name: "delete", synopsis: "WORK", summary: "deletes a film or a series with its notes",
      wordCount: 1...1
    ) { try await $0.delete($1) },
    CommandForm(
      name: "undo", synopsis: "", summary: "undoes the last change of this session",
      wordCount: 0...0
    ) { session, _ in try await session.undo() },
    CommandForm(
      name: "redo", synopsis: "", summary: "repeats what was undone last", wordCount: 0...0
    ) { session, _ in try await session.redo() },
    CommandForm(
      name: "history", synopsis: "WORK [--at NUMBER]",
      summary: "lists the revisions, or shows the work as it was", wordCount: 1...1, options: ["at"]
    ) { try $0.history($1) },
    CommandForm(
      name: "import", synopsis: "FILE.json", summary: "imports films", wordCount: 1...1
    ) { try await $0.importFilms($1) },
    CommandForm(
      name: "export", synopsis: "FILE.jsonl", summary: "writes all documents as JSON Lines",
      wordCount: 1...1
    ) { try await $0.export($1) },
    CommandForm(
      name: "backup", synopsis: "PATH", summary: "copies the store, with its history",
      wordCount: 1...1
    ) { try await $0.backup($1) },
    CommandForm(
      name: "check", synopsis: "", summary: "reads the whole store and reports damage",
      wordCount: 0...0
    ) { session, _ in try await session.check() },
    CommandForm(
      name: "sync", synopsis: "URL|STORE [--user NAME]",
      summary:
        "replicates with a database of a server, or with another store; FILM_NOTES_PASSWORD has the password",
      wordCount: 1...1, options: ["user"]
    ) { try await $0.sync($1) },
    CommandForm(
      name: "migrate", synopsis: "[--preview]",
      summary: "migrates a store of version 1, or shows what that would change",
      wordCount: 0...0, flags: ["preview"]
    ) { try await $0.migrate($1) },
    CommandForm(name: "help", synopsis: "", summary: "lists the commands", wordCount: 0...0) {
      session, _ in session.help()
    },
  ]
}
