import Divan
import DivanTesting

/// All revisions that were ever made of one document, on any replica, with their contents.
struct ReplicaWorld: Sendable {
  struct Made: Sendable {
    let revision: RevisionID
    let parent: RevisionID?
    let isDeleted: Bool
    let number: Int
  }

  let id: String
  /// The revisions in the order in which they were made.
  private(set) var revisions: [Made] = []
  private var places: [RevisionID: Int] = [:]

  init(id: String) { self.id = id }

  subscript(_ revision: RevisionID) -> Made? { places[revision].map { revisions[$0] } }

  mutating func add(_ made: Made) {
    guard places[made.revision] == nil else { return }
    places[made.revision] = revisions.count
    revisions.append(made)
  }

  /// Makes a revision as another program might: its digest does not identify its content.
  mutating func grow(_ random: inout SeededGenerator) throws {
    // Mostly from the latest revisions, so that histories become long.
    let newest = revisions.suffix(4)
    let parent =
      revisions.isEmpty || random.below(40) == 0
      ? nil
      : random.below(5) == 0
        ? revisions.randomElement(using: &random)
        : newest.randomElement(using: &random)
    let digest =
      random.below(4) == 0
      ? String(random.next() % 1000)
      : String(random.next() | 1 << 63, radix: 16) + String(random.next() | 1 << 63, radix: 16)
    guard
      let revision = RevisionID(
        generation: (parent?.revision.generation ?? 0) + 1, digest: digest)
    else { throw CrashOracle.Mismatch("\(digest) is no digest") }
    add(
      Made(
        revision: revision, parent: parent?.revision, isDeleted: random.below(6) == 0,
        number: Int(random.below(1000))))
  }

  /// The whole history of a revision, newest first.
  func history(of revision: RevisionID) -> [RevisionID] {
    Array(sequence(first: revision) { self[$0]?.parent })
  }

  /// Returns leaves in the order in which they win.
  func ordered(_ leaves: Set<RevisionID>) -> [Made] {
    leaves.compactMap { self[$0] }.sorted {
      $0.isDeleted != $1.isDeleted ? $1.isDeleted : $0.revision > $1.revision
    }
  }
}
