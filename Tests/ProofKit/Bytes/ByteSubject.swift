import Divan
package import DivanLog

/// A golden store to be damaged, and everything that it may correctly return afterwards.
package struct ByteSubject: Sendable {
  package let name: String
  /// Whether it was closed, so that every byte of it was durable.
  package let isClosed: Bool
  package let files: [String: SharedBytes]
  /// Whether every bit of it is flipped, instead of one bit of each byte.
  package let isForEveryBit: Bool
  /// The number of newest commits whose durability nothing proves.
  let unprovenCommits: Int
  /// The contents after each commit.
  let versions: [Version]
  /// All revisions that it ever contained, by sequence number.
  let known: [UInt64: Line]

  /// For a store whose documents have more than properties: the dump after each commit.
  ///
  /// It replaces the properties above.
  let dumps: [[String]]
  let knownFacts: Set<String>

  struct Line: Equatable, Sendable {
    let id: [UInt8]
    let revision: RevisionID?
    let sequence: UInt64
    let isDeleted: Bool
    let body: SharedBytes
  }

  struct Version: Equatable, Sendable {
    /// Documents that are not deleted, in the order of their IDs.
    let live: [Line]
    /// All documents, in the order of their sequence numbers.
    let changes: [Line]
  }
}

extension ByteSubject {
  /// Smaller stores than this number of bytes are flipped bit by bit.
  private static let everyBitLimit = 16 << 10

  init(_ store: GoldenStore) throws {
    name = store.name
    isClosed = store.isClosed
    files = store.files.filter { $0.key != "RESERVE" }.mapValues { SharedBytes(copying: $0) }
    dumps = store.dumps
    knownFacts = Set(store.dumps.joined())
    isForEveryBit =
      store.dumps.isEmpty
      && ByteSubject.size(of: store.files.mapValues(\.count)) < ByteSubject.everyBitLimit
    // `FLUSHED` proves what was acknowledged as durable; these were not.
    unprovenCommits = store.name == "weak" ? 3 : 0
    var known: [UInt64: Line] = [:]
    versions = try store.versions.map { lines in
      let all = try lines.map { line in
        // Looked up, so that all versions share the bytes.
        if let line = known[line.sequence] { return line }
        let new = Line(
          id: Array(line.id.utf8), revision: try? RevisionID(parsing: line.revision),
          sequence: line.sequence,
          isDeleted: line.isDeleted, body: try ValueEncoder.encode(.object(line.properties)))
        known[line.sequence] = new
        return new
      }
      return Version(
        live: all.filter { !$0.isDeleted }, changes: all.sorted { $0.sequence < $1.sequence })
    }
    self.known = known
  }

  /// All golden stores that are small enough to be damaged everywhere.
  package static func all() throws -> [ByteSubject] {
    try (GoldenStores.all + GoldenStores.rich).map { try $0.make() }
      .filter { $0.files.values.allSatisfy { $0.count < 200 << 10 } }.map { try ByteSubject($0) }
  }

  /// Whether damaging each byte of it takes long: the time is quadratic in the size.
  ///
  /// Stores whose documents have more than properties are few, and worth more time.
  var isLarge: Bool { size > (dumps.isEmpty ? 24 << 10 : 31 << 10) }

  /// The number of versions, including that of an empty store.
  var versionCount: Int { dumps.isEmpty ? versions.count : dumps.count }

  /// The number of bytes in all files except `FLUSHED`, which is mostly space between its marks.
  package var size: Int { ByteSubject.size(of: files.mapValues(\.count)) }

  private static func size(of files: [String: Int]) -> Int {
    files.reduce(0) { $0 + ($1.key == "FLUSHED" ? 0 : $1.value) }
  }
}

extension ByteSubject.Line {
  func matches(_ document: Document) -> Bool {
    sequence == document.sequence && isDeleted == document.isDeleted
      && id.elementsEqual(document.id.utf8) && document.storedProperties == body
      && document.revision == revision
  }
}
