import Divan
import DivanLog

/// The options of the command line.
struct Options {
  enum Command: String, CaseIterable {
    case info, ls, frames, tx, doc, att, stats, verify, export, salvage, report
  }

  var store = ""
  var command = Command.info
  /// The argument of the command: a segment, or a document's ID.
  var argument: String?
  var isJSON = false
  /// `doc --revs`, `tx --records`.
  var isDetailed = false
  /// `export --by sequence`.
  var isBySequence = false
  /// `export --attachments --revisions --local --expiries`, or `--everything`.
  var content: JSONLines.ExportOptions.Content = []
  /// `salvage --to`.
  var target: String?
  /// `verify --sizes-only`: checks only the names and sizes of attachments.
  var isByName = false
  /// `report --html`.
  var page: String?
  /// `report --document`: the ID of the document whose revisions are drawn.
  var document: String?
  /// `report --force`: replaces an existing file.
  var isForced = false
  var wantsHelp = false
  var wantsVersion = false
}

extension Options {
  /// Parses the arguments after the program's name.
  init(_ arguments: [String]) throws(UsageError) {
    var words: [String] = []
    var given: [String] = []
    var endsOptions = false
    var index = 0
    func value(of option: String) throws(UsageError) -> String {
      index += 1
      guard index < arguments.count else {
        throw UsageError(reason: "`\(option)` needs a value")
      }
      return arguments[index]
    }
    while index < arguments.count {
      let argument = arguments[index]
      if !endsOptions, argument.hasPrefix("-"), argument != "-" { given.append(argument) }
      switch argument {
      case _ where endsOptions || !argument.hasPrefix("-") || argument == "-":
        words.append(argument)
      case "--": endsOptions = true
      case "--help", "-h": wantsHelp = true
      case "--version": wantsVersion = true
      case "--json": isJSON = true
      case "--revs", "--records": isDetailed = true
      case "--attachments": content.insert(.attachments)
      case "--revisions": content.insert(.revisions)
      case "--local": content.insert(.localDocuments)
      case "--expiries": content.insert(.expiries)
      case "--everything": content = .everything
      case "--sizes-only": isByName = true
      case "--to": target = try value(of: argument)
      case "--html": page = try value(of: argument)
      case "--document": document = try value(of: argument)
      case "--force": isForced = true
      case "--by": isBySequence = try Options.isBySequence(try value(of: argument))
      default:
        throw UsageError(
          reason: "there is no option `\(argument)`; write `--` before an ID that begins with `-`")
      }
      index += 1
    }
    if wantsHelp || wantsVersion { return }
    try take(words)
    for option in given where !Options.isGeneral(option) && !command.options.contains(option) {
      throw UsageError(reason: "`\(command.rawValue)` has no option `\(option)`")
    }
  }

  private static func isBySequence(_ order: String) throws(UsageError) -> Bool {
    switch order {
    case "id": false
    case "sequence": true
    default: throw UsageError(reason: "`--by` is `id` or `sequence`")
    }
  }

  /// Whether every command has this option.
  private static func isGeneral(_ option: String) -> Bool { ["--json", "--"].contains(option) }

  private mutating func take(_ words: [String]) throws(UsageError) {
    guard let first = words.first else {
      throw UsageError(reason: "the path of the store is missing")
    }
    var words = words
    // `logdump verify STORE` means the same, unless there is a store of that name.
    if words.count > 1, Options.isCommand(first), !Options.isCommand(words[1]) {
      words.swapAt(0, 1)
    }
    store = words[0]
    guard words.count > 1 else { return }
    let name = words[1] == "log" ? "tx" : words[1]
    guard let command = Command(rawValue: name) else {
      throw UsageError(reason: "there is no command `\(words[1])`")
    }
    self.command = command
    if words.count > 2 { argument = words[2] }
    let limit = command == .frames || command == .doc ? 3 : 2
    guard words.count <= limit else {
      throw UsageError(reason: "`\(words[1])` takes no argument `\(words[limit])`")
    }
    if command == .doc, argument == nil {
      throw UsageError(
        reason: "`doc` needs the ID of a document; write `--` before one that begins with `-`")
    }
    if command == .salvage, target == nil {
      throw UsageError(reason: "`salvage` needs `--to` and the path of a new store")
    }
    if command == .report, page == nil {
      // `info`, `stats` and `verify` answer as text already.
      throw UsageError(reason: "`report` needs `--html` and the path of a new file")
    }
  }

  /// The output of `--version`.
  static let version =
    "logdump of Divan; reads and writes stores of format \(FormatVersion.major).\(FormatVersion.minor)"

  private static func isCommand(_ word: String) -> Bool {
    word == "log" || Command(rawValue: word) != nil
  }

  /// The output of `--help`.
  ///
  /// It is the contract of the tool.
  static let help = """
    logdump STORE [COMMAND] [--json]        or: logdump COMMAND STORE

    Reads a Divan store: the directory, its files, its documents. It takes no lock and writes
    nothing to the store, which may be open in another process, or damaged.

      info               a summary of the store and how its log ends (the default)
      ls                 files, with the parts of the log that they contain
      frames [SEGMENT]   every frame, of one segment (its number or file name) or of all
      tx, log            transactions: commit, time, position; --records adds their records
      doc ID             a document with its known revisions; --revs adds the properties of
                         older revisions that are still in the log, and their changes
      att                contents of attachments: digest, length, file or log, and the documents
                         that refer to them
      stats              bytes in each segment: live, dead, pinned
      verify             checks every byte that matters, and lists the damage and the parts that
                         it did not check; --sizes-only checks only the names and lengths of
                         attachments, which are read as a whole otherwise
      export             JSON Lines: one object for each document, with `_id`, `_rev` and its
                         properties, in order of IDs; --by sequence: in order of changes.
                         Additions: --attachments, with their content; --revisions, a line
                         for each branch of a conflict, with its history, and for deletions;
                         --local documents; --expiries; --everything. `importJSONLines` of
                         the library reads it
      salvage --to NEW   puts the newest whole record of each document into a new store, with
                         its revisions, conflicts, expiry and attachments, and local
                         documents, and lists the losses; deleted documents stay deleted,
                         and past versions and named snapshots are not copied
      report --html FILE shows the store as one page for a browser: what its bytes are used for,
                         what keeps them, the largest documents and attachments, indexes,
                         revisions, damage. --document ID draws the revisions of a document,
                         --force replaces an existing file

      --json             one JSON object a line, for programs
      --                 the arguments after it are no options, even if they begin with `-`
      --version          the version of the format
      --help             prints this

    Exit status
      0  sound
      1  the arguments are wrong, or there is no such document or segment
      2  sound but for an unfinished transaction at the end, which never counted
      3  damage: something that was durable cannot be read as it was
      4  unreadable: the system refused or failed, or this is not a store
      5  written by a newer version of Divan

    The status of a command other than `verify` covers only the parts that the command read.
    If the reader of its output closes the pipe, the tool stops with status 0. On a terminal, long
    work shows its progress on standard error.
    """
}

extension Options.Command {
  /// The command's options, in addition to the options of every command.
  fileprivate var options: Set<String> {
    switch self {
    case .info, .ls, .frames, .att, .stats: []
    case .tx: ["--records"]
    case .doc: ["--revs"]
    case .verify: ["--sizes-only"]
    case .export:
      ["--by", "--attachments", "--revisions", "--local", "--expiries", "--everything"]
    case .salvage: ["--to"]
    case .report: ["--html", "--document", "--force"]
    }
  }
}
