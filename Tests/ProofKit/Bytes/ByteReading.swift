import Divan
import DivanLog

/// The result of opening a damaged store.
package enum ByteOutcome: Equatable, Sendable {
  /// Everything is as it was stored.
  case identical
  /// An error reports the damage and its place; everything else is as it was stored.
  case reported
  /// The state after an earlier commit, of this number, without reported damage.
  ///
  /// There may be a note that something that would have shown more cannot be read.
  case older(Int, isNoted: Bool)
}

extension ByteOutcome {
  /// Whether both are the same result; a note may be gone, because a writer rewrites `HEAD`.
  func isSame(as other: ByteOutcome) -> Bool {
    if case .older(let version, _) = self, case .older(version, _) = other { return true }
    return self == other
  }
}

/// The store gave a wrong answer.
package struct ByteLie: Error, CustomStringConvertible {
  package let description: String
  init(_ description: String) { self.description = description }
}

extension ByteSubject {
  /// Opens files for reading only and compares everything readable with what was stored.
  package func read(_ files: ByteFiles, isMapped: Bool) throws -> ByteOutcome {
    var configuration = Configuration()
    configuration.fileSystem = files
    configuration.isReadOnly = true
    configuration.damage = .salvage
    configuration.readMode = isMapped ? .mapped : .buffered
    configuration.maintenance = .manual
    return try judge { try Database(at: ByteFiles.directory, configuration: configuration) }
  }

  /// Opens a store with `open`, and compares everything readable with what was stored.
  func judge(_ open: () throws -> Database) throws -> ByteOutcome {
    let database: Database
    do {
      database = try open()
    } catch let error as DatabaseError {
      let expected: [DatabaseError.Code] = [.damaged, .notAStore, .newerFormat]
      guard expected.contains(error.code), error.path != nil else {
        throw ByteLie("opening fails without sense: \(error)")
      }
      return .reported
    }
    return try judge(database)
  }

  /// Compares everything readable with what was stored.
  func judge(_ database: Database) throws -> ByteOutcome {
    let damage = database.openingReport.damage
    for error in damage where error.code != .damaged || error.path == nil {
      throw ByteLie("damage without a place: \(error)")
    }
    guard dumps.isEmpty else { return try judgeFacts(database) }
    let snapshot = try database.snapshot()
    var documents = snapshot.documents()
    var changes = snapshot.changes()
    let live = try read { try documents.next() }
    let all = try read { try changes.next()?.document }
    if damage.isEmpty, live.errorCount == 0, all.errorCount == 0 {
      let found = (live.documents, all.documents)
      if try snapshot.count == live.documents.count {
        for (index, version) in versions.enumerated().reversed() where version.matches(found) {
          return index == versions.count - 1
            ? .identical
            : .older(index, isNoted: !database.openingReport.notes.isEmpty)
        }
      }
      throw ByteLie(
        "changed without a report: \(summary(live.documents)), \(summary(all.documents))")
    }
    // Everything readable was once stored; and if the log is not known to be damaged, it is the
    // newest version.
    for document in live.documents + all.documents {
      guard let line = known[document.sequence], line.matches(document) else {
        throw ByteLie("never stored: \(document) at \(document.sequence)")
      }
    }
    if damage.isEmpty, let last = versions.last {
      let newest = Set(last.changes.map(\.sequence))
      for document in live.documents + all.documents where !newest.contains(document.sequence) {
        throw ByteLie("an older revision without a report: \(document)")
      }
    }
    return .reported
  }

  /// Does the same for a store whose documents have more than properties.
  private func judgeFacts(_ database: Database) throws -> ByteOutcome {
    let isWhole = database.openingReport.damage.isEmpty
    let found = try GoldenDump(database)
    if isWhole, found.errors.isEmpty {
      for (index, dump) in dumps.enumerated().reversed() where dump == found.lines {
        return index == dumps.count - 1
          ? .identical : .older(index, isNoted: !database.openingReport.notes.isEmpty)
      }
      let newest = dumps.last ?? []
      throw ByteLie(
        "changed without a report: \(found.lines.filter { !newest.contains($0) }.prefix(3)), without "
          + "\(newest.filter { !found.lines.contains($0) }.prefix(3))")
    }
    // If the log is damaged, lines about several records may mix versions.
    for line in found.lines where !knownFacts.contains(line) {
      guard !isWhole,
        line.hasPrefix("~") || isOfAnotherVersion(line) || isOfWithin(line) || isKnownLeaf(line)
      else {
        throw ByteLie("never so: \(line)")
      }
    }
    if isWhole, let newest = dumps.last {
      if let line = found.lines.first(where: { !newest.contains($0) }) {
        throw ByteLie("an older fact without a report: \(line)")
      }
      // A damaged attachment is an error for that attachment alone.
      let areAttachments = found.errors.allSatisfy { $0.path?.contains("/attachments/") == true }
      if areAttachments, found.lines.count + found.errors.count != newest.count {
        throw ByteLie(
          "more than attachments is missing: "
            + "\(newest.filter { !found.lines.contains($0) }.prefix(3))")
      }
    }
    return .reported
  }

  /// Whether a line about a document in a named version is true of some version.
  private func isOfAnotherVersion(_ line: String) -> Bool {
    let parts = line.split(separator: ": ", maxSplits: 1)
    guard parts.count == 2, parts[0].hasPrefix("in ") else { return false }
    let words = parts[1].split(separator: " ", maxSplits: 2)
    guard words.count == 3 else { return false }
    return knownFacts.contains { fact in
      (fact.hasPrefix("leaf \(words[1]) of \(words[0]): ")
        || fact.hasPrefix("revision \(words[1]) of \(words[0]): ")) && fact.hasSuffix(words[2])
    }
  }

  /// Whether a line is true of no version because the rest of its transaction is lost.
  ///
  /// No version has the sequence number, and its record's checksum is valid.
  private func isOfWithin(_ line: String) -> Bool {
    let words = line.split(separator: " ", maxSplits: 2)
    guard words.count == 3, ["revision", "leaf"].contains(words[0]), let number = UInt64(words[1])
    else { return false }
    return number > 0
      && !knownFacts.contains {
        $0.hasPrefix("revision \(number) of ") || $0.hasPrefix("leaf \(number) of ")
      }
  }

  /// Whether a line names a known revision as a leaf, or a known leaf as an ancestor of the winner.
  ///
  /// Which of them wins, and has successors, depends on what is lost.
  private func isKnownLeaf(_ line: String) -> Bool {
    for (one, other) in [("leaf", "revision"), ("revision", "leaf")] {
      for start in ["", "attached to "] where line.hasPrefix("\(start)\(one) ") {
        return knownFacts.contains("\(start)\(other)" + line.dropFirst(start.count + one.count))
      }
    }
    return false
  }

  private func summary(_ documents: [Document]) -> String {
    "\(documents.count) documents: "
      + documents.prefix(6).map { "\($0.id) \($0.sequence)" }.joined(separator: ", ")
  }

  /// Reads to the end, skipping damaged documents.
  private func read(
    _ next: () throws -> Document?
  ) throws -> (documents: [Document], errorCount: Int) {
    var documents: [Document] = []
    var errorCount = 0
    while errorCount < 1000 {
      do {
        guard let document = try next() else { break }
        documents.append(document)
      } catch let error as DatabaseError {
        guard error.code == .damaged, error.path != nil else {
          throw ByteLie("reading fails without sense: \(error)")
        }
        errorCount += 1
      }
    }
    return (documents, errorCount)
  }
}

extension ByteSubject.Version {
  fileprivate func matches(_ found: (live: [Document], changes: [Document])) -> Bool {
    live.count == found.live.count && changes.count == found.changes.count
      && zip(live, found.live).allSatisfy { $0.matches($1) }
      && zip(changes, found.changes).allSatisfy { $0.matches($1) }
  }
}
