import Divan
import DivanLog

// Reads from a damaged store without asking for what is left: every answer must be right, or be an
// error that says what is damaged.

extension ByteSubject {
  /// The numbers of answered and unanswered queries, by topic.
  struct Answers {
    enum Topic: String, CaseIterable {
      case documents = "documents that are there"
      case absent = "documents that are not there"
      case several = "several documents"
      case facts = "stores with more than properties"
      case opening = "stores that do not open"
    }

    private(set) var counts: [Topic: (known: Int, unknown: Int)] = [:]

    mutating func add(_ topic: Topic, known: Int = 0, unknown: Int = 0) {
      counts[topic, default: (0, 0)].known += known
      counts[topic, default: (0, 0)].unknown += unknown
    }
  }

  /// Opens files for reading only and runs all queries.
  ///
  /// An answer must match one of the newest versions, of which `doubtCount` may be older than the
  /// last one; throws if one does not.
  func ask(_ files: ByteFiles, isMapped: Bool, doubtCount: Int) throws -> Answers {
    var configuration = Configuration()
    configuration.fileSystem = files
    configuration.isReadOnly = true
    configuration.readMode = isMapped ? .mapped : .buffered
    configuration.maintenance = .manual
    var answers = Answers()
    let database: Database
    do {
      database = try Database(at: ByteFiles.directory, configuration: configuration)
    } catch let error as DatabaseError where error.path != nil {
      answers.add(.opening, unknown: 1)
      return answers
    }
    guard dumps.isEmpty else {
      let found = try GoldenDump(database)
      let right = Set(dumps.suffix(1 + doubtCount).joined())
      for line in found.lines where !right.contains(line) {
        throw ByteLie("not so, and not said to be uncertain: \(line)")
      }
      answers.add(.facts, known: found.lines.count, unknown: found.errors.count)
      return answers
    }
    var certainty = ByteCertainty(Array(versions.suffix(1 + doubtCount)), try database.snapshot())
    var ids = Set(known.values.map(\.id))
    ids.insert(Array("no such document".utf8))
    try certainty.askOfAll(middle: ids.sorted { $0.lexicographicallyPrecedes($1) }[ids.count / 2])
    for id in ids { try certainty.ask(of: id) }
    return certainty.answers
  }
}

/// Queries a snapshot, and compares the answers with the expected ones.
private struct ByteCertainty {
  let right: [ByteSubject.Version]
  let snapshot: Snapshot
  var answers = ByteSubject.Answers()

  init(_ right: [ByteSubject.Version], _ snapshot: Snapshot) {
    self.right = right
    self.snapshot = snapshot
  }

  private mutating func ask<Answer>(
    _ question: @autoclosure () -> String, about topic: ByteSubject.Answers.Topic = .several,
    _ answer: () throws -> Answer,
    isRight: (Answer, ByteSubject.Version) -> Bool
  ) throws {
    do {
      let answer = try answer()
      guard right.contains(where: { isRight(answer, $0) }) else {
        throw ByteLie("\(question()) has a wrong answer: \(answer)".prefix(300).description)
      }
      answers.add(topic, known: 1)
    } catch let error as DatabaseError {
      guard error.code == .damaged, error.path != nil else {
        throw ByteLie("\(question()) fails without sense: \(error)")
      }
      answers.add(topic, unknown: 1)
    }
  }

  mutating func askOfAll(middle: [UInt8]) throws {
    let snapshot = snapshot
    let middleID = String(decoding: middle, as: UTF8.self)
    func isAll(_ documents: [Document], _ lines: [ByteSubject.Line]) -> Bool {
      documents.count == lines.count && zip(lines, documents).allSatisfy { $0.matches($1) }
    }
    try ask("count", { try snapshot.count }) { $0 == $1.live.count }
    try ask("documents") {
      let cursor = snapshot.documents()
      return try cursor.collect()
    } isRight: {
      isAll($0, $1.live)
    }
    try ask("documents descending") {
      let cursor = snapshot.documents(descending: true)
      return try cursor.collect()
    } isRight: {
      isAll($0, $1.live.reversed())
    }
    try ask("a range") {
      let cursor = snapshot.documents(IDRange(from: middleID))
      return try cursor.collect()
    } isRight: { found, version in
      isAll(found, version.live.filter { !$0.id.lexicographicallyPrecedes(middle) })
    }
    try ask("IDs") {
      let cursor = snapshot.ids(IDRange(upTo: middleID))
      return try cursor.collect()
    } isRight: { found, version in
      found.map { Array($0.utf8) }
        == version.live.map(\.id).filter { $0.lexicographicallyPrecedes(middle) }
    }
    try ask("changes") {
      let cursor = snapshot.changes()
      return try cursor.collect().map(\.document)
    } isRight: {
      isAll($0, $1.changes)
    }
    let start = right.last?.changes.last.map { $0.sequence / 2 } ?? 0
    try ask("changes since \(start)") {
      let cursor = snapshot.changes(since: start)
      return try cursor.collect().map(\.document)
    } isRight: { found, version in
      isAll(found, version.changes.filter { $0.sequence > start })
    }
    try ask("a query") {
      try snapshot.find(Query<Document>())
    } isRight: {
      isAll(
        $0.sorted { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }, $1.live)
    }
    try ask("the count of a query") {
      try snapshot.count(Query<Document>())
    } isRight: {
      $0 == $1.live.count
    }
    let missing = Query<Document>().filter { $0["no such property"].isMissing }
    try ask("the count of a filter") {
      try snapshot.count(missing)
    } isRight: {
      $0 == $1.live.count
    }
    try ask("whether there is any") {
      try snapshot.exists(missing)
    } isRight: {
      $0 == !$1.live.isEmpty
    }
    let view = MapReduceView("all", version: "1") { document, emit in
      emit(.string(document.id))
    }
    try ask("a view") {
      try snapshot.rowCount(of: view)
    } isRight: {
      $0 == $1.live.count
    }
  }

  mutating func ask(of bytes: [UInt8]) throws {
    let snapshot = snapshot
    let id = String(decoding: bytes, as: UTF8.self)
    func live(_ version: ByteSubject.Version) -> ByteSubject.Line? {
      version.live.first { $0.id == bytes }
    }
    func change(_ version: ByteSubject.Version) -> ByteSubject.Line? {
      version.changes.first { $0.id == bytes }
    }
    func isRight(_ document: Document?, _ line: ByteSubject.Line?) -> Bool {
      guard let document, let line else { return document == nil && line == nil }
      return line.matches(document)
    }
    let topic: ByteSubject.Answers.Topic =
      right.contains { live($0) != nil } ? .documents : .absent
    try ask("get \(id)", about: topic, { try snapshot.document(id) }) { isRight($0, live($1)) }
    try ask("get [\(id)]", about: topic, { try snapshot.documents([id])[0] }) {
      isRight($0, live($1))
    }
    try ask("exists \(id)", about: topic, { try snapshot.exists(id) }) { $0 == (live($1) != nil) }
    try ask("tombstone \(id)", about: topic, { try snapshot.tombstone(id) }) { found, version in
      isRight(found, change(version).flatMap { $0.isDeleted ? $0 : nil })
    }
    try ask("revision of \(id)", about: topic) {
      try snapshot.revision(of: id)
    } isRight: {
      $0 == change($1)?.revision
    }
    try ask("leaves of \(id)", about: topic, { try snapshot.leaves(of: id) }) { found, version in
      isRight(found.first, change(version)) && found.count <= 1
    }
    for revision in Set(right.compactMap { change($0)?.revision }) {
      try ask("missing \(revision) of \(id)", about: topic) {
        try snapshot.missingRevisions(among: [id: [revision]]).isEmpty
      } isRight: { isHere, version in
        isHere == (change(version)?.revision == revision) || isHere
      }
    }
  }
}
