package import Divan
import Foundation

/// The writes of a process's threads that will be killed, and a check that they are complete.
///
/// Round *k* of thread *t* sets two documents, `t-left` and `t-right`, numbered by *k* modulo the
/// number of pairs, to *k*; it increments `t-count`, which is then *k*, and `total`, which is the
/// sum over all threads. If it writes attachments, `t-file` has one that is derived from *k*, too
/// large for the log.
package struct TwinLedger: Sendable {
  /// The number of pairs of each thread.
  package static let pairs = 37

  package init() {}

  /// Runs one round in one transaction.
  ///
  /// `beforePiece` is called with the number of each piece of an attachment before it is passed on;
  /// there are at least eighteen.
  package func write(
    _ round: Int, thread: Int, in database: Database, durability: Durability,
    attaching: Bool = false, beforePiece: (Int) -> Void = { _ in }
  ) throws {
    let number = Value.int(Int64(round))
    let attachment = try attaching ? store(contentOf: round, in: database, beforePiece) : nil
    // The size varies, so that documents do not exactly replace each other.
    let text = Value.string(String(repeating: "x", count: round &* 7919 % 400))
    let pair = round % TwinLedger.pairs
    try database.write(durability: durability) { transaction in
      try transaction.replace("\(thread)-left-\(pair)", with: ["n": number, "text": text])
      try transaction.replace("\(thread)-right-\(pair)", with: ["n": number])
      try transaction.replace("\(thread)-count", with: ["n": number])
      let total = try transaction.document("total")?["n"]?.intValue ?? 0
      try transaction.replace("total", with: ["n": .int(Int64(total + 1))])
      guard let attachment else { return }
      var file = try transaction.document("\(thread)-file") ?? Document(id: "\(thread)-file")
      file["n"] = number
      file.attachments["content"] = attachment
      try transaction.put(file)
    }
  }

  /// Stores an attachment in pieces, so that the process may be killed in the middle of it.
  private func store(
    contentOf round: Int, in database: Database, _ beforePiece: (Int) -> Void
  ) throws -> Document.Attachment {
    var rest = TwinLedger.content(of: round)[...]
    var number = 0
    return try database.storeAttachment(contentType: "text/plain") {
      beforePiece(number)
      number += 1
      let piece = rest.prefix(16_384)
      rest = rest.dropFirst(piece.count)
      return piece.isEmpty ? nil : piece
    }
  }

  /// Returns more bytes than an attachment's writer holds in memory.
  private static func content(of round: Int) -> [UInt8] {
    var bytes = [UInt8](
      repeating: UInt8(truncatingIfNeeded: round), count: 300_000 + round &* 7919 % 300_000)
    bytes.replaceSubrange(0..<20, with: String(10_000_000_000_000_000_000 + UInt64(round)).utf8)
    return bytes
  }

  /// Returns the number of rounds of each thread in a snapshot.
  ///
  /// - Throws: An error if any round is incomplete.
  package func read(_ snapshot: Snapshot) throws -> [Int: Int] {
    var counts: [Int: Int] = [:]
    for thread in 0..<16 {
      guard let count = try snapshot.document("\(thread)-count")?["n"]?.intValue else { continue }
      counts[thread] = count
      try expectContent(of: thread, round: count, in: snapshot)
      for round in max(1, count - TwinLedger.pairs + 1)...count {
        for side in ["left", "right"] {
          let id = "\(thread)-\(side)-\(round % TwinLedger.pairs)"
          let found = try snapshot.document(id)?["n"]?.intValue
          guard found == round else {
            throw CrashOracle.Mismatch(
              "\(id) is \(found ?? -1) instead of \(round), and the count is \(count)")
          }
        }
      }
    }
    let total = try snapshot.document("total")?["n"]?.intValue ?? 0
    guard total == counts.values.reduce(0, +) else {
      throw CrashOracle.Mismatch("the total is \(total), and the threads counted \(counts)")
    }
    return counts
  }

  private func expectContent(of thread: Int, round: Int, in snapshot: Snapshot) throws {
    guard let file = try snapshot.document("\(thread)-file") else { return }
    let content = try file.attachments["content"]?.data()
    guard file["n"]?.intValue == round, content == Data(TwinLedger.content(of: round)) else {
      throw CrashOracle.Mismatch(
        "\(file) with \(content?.count ?? 0) attached bytes, and the count is \(round)")
    }
  }
}
