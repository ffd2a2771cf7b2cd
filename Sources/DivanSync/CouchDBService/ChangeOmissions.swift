import Divan

/// The changes that an answer leaves out because they cannot be read.
///
/// An answer ends with them, so that its reader does not take them for changes that are not there:
///
/// ```json
/// {"results": [], "last_seq": "7-…", "pending": 0,
///  "unreadable": [{"id": "a", "reason": "a record has a wrong checksum"}]}
/// ```
///
/// Other engines ignore the member. In an event stream, comments take its place.
struct ChangeOmissions: Sendable {
  private var entries: [Value] = []
  private var count = 0

  /// The number of changes that an answer names.
  private static let countLimit = 100

  mutating func add(_ errors: [DatabaseError]) {
    count += errors.count
    entries += errors.prefix(max(0, Self.countLimit - entries.count)).map(\.entry)
  }

  /// The member of the answer, after a comma; empty if nothing is left out.
  var member: String {
    guard count > 0 else { return "" }
    let rest = count - entries.count
    let more: [Value] = rest > 0 ? [["reason": .string("and \(rest) more")]] : []
    return ",\"unreadable\":\(Value.array(entries + more).json)"
  }

  /// The comments of an event stream.
  static func comments(_ errors: [DatabaseError]) -> String {
    errors.map { ": unreadable \($0.entry.json)\n\n" }.joined()
  }
}

extension DatabaseError {
  /// The error, with the ID of a document if it has none.
  func about(_ id: String?) -> DatabaseError {
    var error = self
    error.documentID = error.documentID ?? id
    return error
  }

  /// What a log says; without paths.
  var incident: String {
    "A change is left out: " + message + (documentID.map { " (\($0.prefix(100)))" } ?? "")
  }

  fileprivate var entry: Value {
    var members: Value.Object = ["reason": .string(message)]
    if let documentID { members["id"] = .string(documentID) }
    return .object(members)
  }
}
