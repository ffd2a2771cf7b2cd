package import Divan
import DivanLog
import DivanTesting
import Foundation
import Synchronization

/// Everything readable in a store whose documents have more than properties: a line for each fact.
package struct GoldenDump: Sendable {
  package private(set) var lines: [String] = []
  /// The errors of what could not be read.
  package private(set) var errors: [DatabaseError] = []

  /// Reads everything, skipping damaged parts.
  package init(_ database: Database) throws {
    let snapshot = try database.snapshot()
    try attempt { ["~ \(try snapshot.count) documents"] }
    var ids: [String] = []
    // Not the snapshot's own number, which is higher if the number of used ones is not known.
    var last: UInt64 = 1
    var changes = snapshot.changes()
    while errors.count < 1000 {
      var isAtEnd = false
      try attempt {
        guard let change = try changes.next() else {
          isAtEnd = true
          return []
        }
        ids.append(change.id)
        last = change.sequence
        let id = change.id
        let conflict = change.hasConflicts ? ", in conflict" : ""
        let origin = change.origin.map { ", by \($0)" } ?? ""
        return [
          "~ change \(change.sequence): \(id) is \(change.revision?.description ?? "none")\(conflict)\(origin)"
        ]
      }
      if isAtEnd { break }
    }
    for id in ids {
      try attempt {
        let expiry = try snapshot.expiry(of: id).map {
          "\(UInt64($0.timeIntervalSince1970 * 1000))"
        }
        return ["~ \(id) expires \(expiry ?? "never")"]
      }
      try read(id, try attemptValue { try snapshot.leaves(of: id) } ?? [], "leaf")
      if let history = try attemptValue({ try snapshot.history(of: id) }) {
        lines.append("~ history of \(id): \(history.map { "\($0.id)" }.joined(separator: ", "))")
        try read(id, history.compactMap(\.document), "revision")
      }
    }
    for id in try attemptValue({ try snapshot.localDocumentIDs() }) ?? [] {
      try attempt {
        let properties = try snapshot.localDocument(id) ?? [:]
        return ["local \(id): \(Value.object(properties).json)"]
      }
    }
    try readNamed(database)
    try readIndexes(database)
    try readPast(database, last)
  }

  private mutating func read(_ id: String, _ documents: [Document], _ what: String) throws {
    for document in documents {
      let revision = document.revision?.description ?? "none"
      lines.append(
        "\(what) \(document.sequence) of \(id): \(revision)\(document.isDeleted ? " deleted" : "") "
          + document.json)
      for (name, attachment) in document.attachments.sorted(by: { $0.key < $1.key }) {
        try attempt {
          let content = SharedBytes(copying: Array(try attachment.data()))
          return [
            "attached to \(what) \(document.sequence) of \(id): \(name), \(attachment.contentType), "
              + "\(attachment.length) bytes since \(attachment.generation), "
              + "\(SHA256.digest(of: content))"
          ]
        }
      }
    }
  }

  private mutating func readNamed(_ database: Database) throws {
    for named in try attemptValue({ try database.namedSnapshots() }) ?? [] {
      lines.append(
        "~ named \(named.name): \(named.sequence), \(named.documentCount) documents, pins "
          + "\(named.pinnedSize)")
      try attempt {
        let documents = try database.snapshot(named: named.name).documents()
        return try documents.collect().map {
          "in \(named.name): \($0.id) \($0.sequence) \($0.json)"
        }
      }
    }
  }

  private mutating func readIndexes(_ database: Database) throws {
    let snapshot = try database.snapshot()
    for index in try attemptValue({ try database.indexes() }) ?? [] {
      try attempt {
        let ids = try snapshot.ids(by: index.name)
        return ["~ index \(index.name) on \(index.path): \(try ids.collect())"]
      }
    }
  }

  private mutating func readPast(_ database: Database, _ last: UInt64) throws {
    for sequence in 1...min(last, 10) {
      try attempt {
        do {
          let documents = try database.snapshot(at: sequence).documents()
          return ["~ at \(sequence): \(try documents.collect().map { "\($0.id) \($0.sequence)" })"]
        } catch let error as DatabaseError where error.code == .versionNotRetained {
          return ["~ at \(sequence): not held"]
        }
      }
    }
  }

  private mutating func attempt(_ body: () throws -> [String]) throws {
    lines += try attemptValue(body) ?? []
  }

  private mutating func attemptValue<T>(_ body: () throws -> T) throws -> T? {
    do {
      return try body()
    } catch let error as DatabaseError {
      guard error.code == .damaged, error.path != nil else {
        throw ByteLie("reading fails without sense: \(error)")
      }
      errors.append(error)
      return nil
    }
  }
}

extension GoldenBench {
  /// Commits changes of all kinds, and records the contents, which must match the changes.
  package func change(
    _ database: Database, _ changes: StoreChange..., durability: Durability = .full
  ) throws {
    var changed = model.withLock { $0 }
    try database.write(durability: durability) { transaction in
      for change in changes {
        try changed.make(change, in: transaction) {
          draws.withLock { $0.next() }
        }
      }
    }
    model.withLock { $0 = changed }
    try noteDump(database)
  }

  /// Adds an index.
  package func addIndex(_ database: Database, _ name: String) throws {
    try database.addIndex(StoreModel.index(name))
    model.withLock { $0.addIndex(name) }
    try noteDump(database)
  }

  /// Removes an index.
  package func removeIndex(_ database: Database, _ name: String) throws {
    try database.removeIndex(named: name)
    model.withLock { $0.removeIndex(name) }
    try noteDump(database)
  }

  /// Names the newest version.
  package func name(_ database: Database, _ name: String) throws {
    let sequence = try database.snapshot().sequence
    try database.saveSnapshot(named: name)
    model.withLock { $0.name(name, sequence: sequence) }
    try noteDump(database)
  }

  /// Records the contents of a store.
  package func noteDump(_ database: Database) throws {
    let model = model.withLock { $0 }
    try model.compare(database.snapshot())
    try model.compareBesides(database, .disabled)
    let dump = try GoldenDump(database)
    if let error = dump.errors.first { throw error }
    dumpsSoFar.withLock { $0.append(dump.lines) }
  }
}
