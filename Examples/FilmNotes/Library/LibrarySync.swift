import Divan
import DivanSync
import Foundation

/// Keeps a library the same as another copy of it, in both directions.
///
/// The other copy is a database of a server, if `place` is a URL of the web, or else another store
/// of this machine. It is never created: a wrong name must not fill a server or a disk.
struct LibrarySync {
  let database: Database
  let place: String
  var authorization: CouchDBAuthorization = .none

  struct Result {
    var status: ReplicationStatus
    /// The IDs of documents whose two versions were merged.
    var mergedIDs: [String] = []
  }

  func run() async throws -> Result {
    guard let url = URL(string: place), url.scheme == "http" || url.scheme == "https" else {
      guard Database.exists(at: place) else {
        throw DatabaseError(
          .notFound, "there is no store to replicate with",
          hint: "Create it: film-notes --store \(place) list",
          path: place)
      }
      let other = try await Library.open(at: place).database
      do {
        let result = try await replicate(with: DatabasePeer(other))
        try await other.close()
        return result
      } catch {
        try? await other.close()
        throw error
      }
    }
    return try await replicate(with: CouchDBPeer(url: url, authorization: authorization))
  }

  /// Replicates, merges what both sides changed, and sends the merged documents.
  private func replicate(with peer: some ReplicationPeer) async throws -> Result {
    let replicator = Replicator(database, peer)
    let before = try database.snapshot().sequence
    var result = Result(status: try await replicator.replicate())
    result.mergedIDs = try await merge(changesSince: before)
    guard !result.mergedIDs.isEmpty else { return result }
    let sent = result.status.push.counts.revisionsWritten
    result.status.push = try await replicator.replicate().push
    result.status.push.counts.revisionsWritten += sent
    return result
  }

  /// Merges the two versions of each document that was changed on both sides.
  ///
  /// Properties that only one side changed need no decision. Of those that both changed, a note
  /// keeps both texts, and everything else the value of the winning revision, which is the same on
  /// both sides.
  private func merge(changesSince sequence: UInt64) async throws -> [String] {
    try await database.write { transaction in
      var ids: [String] = []
      var changes = try transaction.changes(since: sequence)
      while let change = try changes.next() {
        if change.hasConflicts { ids.append(change.id) }
      }
      for id in ids {
        _ = try transaction.resolve(id) { overlap in
          guard overlap.path == ["text"], let mine = overlap.mine?.stringValue,
            let theirs = overlap.theirs?.stringValue
          else { return .mine }
          return .value(.string(mine + "\n" + theirs))
        }
      }
      return ids
    }
  }
}
