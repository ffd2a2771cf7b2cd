import Divan
import DivanTesting
import Foundation
import Synchronization
import Testing

/// A clock that a test advances, one second at a time.
final class SteppedClock: Sendable {
  private let seconds = Mutex<UInt64>(1_700_000_000)

  var now: UInt64 { seconds.withLock { $0 * 1000 } }
  var date: Date { Date(timeIntervalSince1970: Double(now) / 1000) }
  func tick() { seconds.withLock { $0 += 1 } }
}

/// The contents of one version of a store, read when it was the newest.
struct PlainVersion: Equatable {
  struct Line: Equatable {
    var id: String
    var sequence: UInt64
    var revision: RevisionID?
    var isDeleted: Bool
    var json: String
    /// All leaves, the winner first.
    var leaves: [String]
  }

  var sequence: UInt64
  /// The time of the commit, in milliseconds since 1970.
  var time: UInt64
  /// The version's documents in the order of their changes, including deleted ones.
  var lines: [Line]

  init(_ snapshot: Snapshot, time: UInt64) throws {
    sequence = snapshot.sequence
    self.time = time
    lines = try PlainVersion.lines(snapshot, since: 0)
  }

  private static func lines(_ snapshot: Snapshot, since sequence: UInt64) throws -> [Line] {
    let cursor = snapshot.changes(since: sequence)
    return try cursor.collect().map { change in
      Line(
        id: change.id, sequence: change.sequence, revision: change.revision,
        isDeleted: change.isDeleted, json: change.document.json,
        leaves: try snapshot.leaves(of: change.id).map { leaf in
          "\(leaf.revision?.description ?? "none") \(leaf.json)"
        })
    }
  }

  /// Compares a snapshot with this version in every way of reading.
  func check(
    _ snapshot: Snapshot, among ids: [String], except tainted: Set<String> = [], _ comment: Comment
  ) throws {
    func known(_ lines: [Line]) -> [Line] { lines.filter { !tainted.contains($0.id) } }
    let lines = known(lines)
    #expect(snapshot.sequence == sequence, comment)
    #expect(known(try PlainVersion.lines(snapshot, since: 0)) == lines, comment)
    if let middle = lines.dropFirst(lines.count / 2).first {
      #expect(
        known(try PlainVersion.lines(snapshot, since: middle.sequence))
          == lines.filter { $0.sequence > middle.sequence }, comment)
    }
    let live = lines.filter { !$0.isDeleted }.sorted { $0.id < $1.id }
    let liveIDs = live.map(\.id)
    for isDescending in [false, true] {
      let found = snapshot.ids(descending: isDescending)
      let documents = snapshot.documents(descending: isDescending)
      let wanted = isDescending ? live.reversed() : live
      #expect(
        try found.collect().filter { !tainted.contains($0) } == wanted.map(\.id), comment)
      #expect(
        try documents.collect().filter { !tainted.contains($0.id) }.map(\.json)
          == wanted.map(\.json),
        comment)
    }
    if tainted.isEmpty { #expect(try snapshot.count == live.count, comment) }
    let several = try snapshot.documents(ids)
    for (index, id) in ids.enumerated() where !tainted.contains(id) {
      let line = lines.first { $0.id == id }
      let json = line.flatMap { $0.isDeleted ? nil : $0.json }
      #expect(try snapshot.document(id)?.json == json, comment)
      #expect(several[index]?.json == json, comment)
      #expect(try snapshot.exists(id) == liveIDs.contains(id), comment)
      #expect(try snapshot.revision(of: id) == line?.revision, comment)
      #expect(try (snapshot.tombstone(id) != nil) == (line?.isDeleted ?? false), comment)
      if let revision = line?.revision {
        #expect(try snapshot.revision(revision, of: id)?.json == line?.json, comment)
        #expect(try snapshot.history(of: id).first?.document?.json == line?.json, comment)
      }
    }
  }
}

/// The versions of a store, oldest first.
struct PlainHistory {
  private(set) var versions: [PlainVersion] = []
  /// The sequence number before which versions of a document are not compared.
  ///
  /// A leaf of the document was purged then.
  private var taintedBefore: [String: UInt64] = [:]

  mutating func note(_ snapshot: Snapshot, time: UInt64) throws {
    guard snapshot.sequence > versions.last?.sequence ?? 0 else { return }
    versions.append(try PlainVersion(snapshot, time: time))
  }

  mutating func purge(_ id: String) {
    for index in versions.indices { versions[index].lines.removeAll { $0.id == id } }
  }

  mutating func purgeLeaf(of id: String, at sequence: UInt64) { taintedBefore[id] = sequence }

  func tainted(in version: PlainVersion) -> Set<String> {
    Set(taintedBefore.filter { version.sequence < $0.value }.keys)
  }

  /// Returns the last version at or below a sequence number.
  func version(at sequence: UInt64) -> PlainVersion? {
    versions.last { $0.sequence <= sequence }
  }

  func version(atTime time: UInt64) -> PlainVersion? {
    versions.last { $0.time <= time }
  }
}
