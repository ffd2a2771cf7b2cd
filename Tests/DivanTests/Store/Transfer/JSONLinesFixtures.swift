import DivanTesting
import Foundation
import ProofKit
import Testing

@testable import Divan

/// Shortcuts for tests of exports and imports.
extension Snapshot {
  /// Returns a whole export as text.
  func jsonLinesText(
    _ content: JSONLines.ExportOptions.Content = .everything,
    by order: JSONLines.ExportOptions.Order = .byID, inlineSizeLimit: Int = 1 << 20
  ) throws -> String {
    var options = JSONLines.ExportOptions(content: content, order: order)
    options.inlineSizeLimit = inlineSizeLimit
    var bytes = Data()
    try exportJSONLines(options: options) { bytes.append($0) }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension Database {
  /// Imports a text in pieces of a given size.
  @discardableResult
  func importLines(
    _ text: String, _ options: JSONLines.ImportOptions = JSONLines.ImportOptions(),
    pieceSize: Int = 1 << 20
  ) throws -> ImportReport {
    var rest = Array(text.utf8)[...]
    return try importJSONLines(options: options) { () -> ArraySlice<UInt8>? in
      defer { rest = rest.dropFirst(pieceSize) }
      return rest.isEmpty ? nil : rest.prefix(pieceSize)
    }
  }

  /// Returns the error of an import that must fail.
  func importError(
    _ text: String, _ options: JSONLines.ImportOptions = JSONLines.ImportOptions(),
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> DatabaseError {
    let error = #expect(throws: DatabaseError.self, sourceLocation: sourceLocation) {
      try importLines(text, options)
    }
    return try #require(error, sourceLocation: sourceLocation)
  }
}

/// A database with random contents of every kind that can be exported.
struct RandomContents {
  private var random: SeededGenerator
  let database: Database
  private let ids: [String]

  init(seed: UInt64, in database: Database) {
    random = SeededGenerator(seed: seed)
    self.database = database
    ids = (0..<25).map { "document \($0)é" } + ["\"quoted\\", "line\nbreak", "a_local/b"]
  }

  /// Makes 150 changes.
  mutating func fill() throws {
    for _ in 0..<150 { try change() }
    try database.write { transaction in
      for id in ["settings", "\u{301}combining", "zero\0byte"] {
        try transaction.putLocal(id, properties())
      }
    }
  }

  private mutating func change() throws {
    let id = ids[random.below(ids.count)]
    let current = try database.snapshot().leaves(of: id).randomElement(using: &random)
    var document = current ?? Document(id: id)
    document.properties = properties()
    if random.below(3) == 0 { addAttachment(to: &document) }
    try database.write { transaction in
      switch random.below(10) {
      case 0..<5:
        if current?.isDeleted ?? false {
          try transaction.insert(document, history: replicatedHistory(after: current))
        } else {
          try transaction.put(document, onConflict: .branch)
        }
      case 5, 6: try transaction.insert(document, history: replicatedHistory(after: nil))
      case 7:
        try transaction.insert(
          document, history: replicatedHistory(after: current), isDeleted: true)
      case 8: try transaction.delete(id)
      default:
        if try transaction.exists(id) {
          let time = 4_000_000_000 + Double(random.below(1_000_000)) / 8
          try transaction.setExpiry(Date(timeIntervalSince1970: time), of: id)
        }
      }
    }
  }

  /// Returns the history of a replicated revision, with digests of two kinds.
  private mutating func replicatedHistory(after document: Document?) -> [RevisionID] {
    let start = (document?.revision?.generation ?? UInt64(random.below(3))) + 1
    let digest =
      random.below(3) == 0
      ? "foreign \(random.below(1000))\"" : String(format: "%032x", random.below(1 << 30))
    let revision = RevisionID(generation: start, digest: digest)
    return [revision, document?.revision].compactMap { $0 }
  }

  private mutating func properties() -> Value.Object {
    [
      "number": .int(Int64(truncatingIfNeeded: random.next())), "fraction": 0.1,
      "text": .string(String(repeating: "x\u{1F600}\n", count: random.below(20))),
      "nested": ["_inner": [.null, true, .unsigned(.max)]],
    ]
  }

  private mutating func addAttachment(to document: inout Document) {
    let size = [0, 1, 100, 66_000, 70_000][random.below(5)]
    let byte = UInt8(random.below(4))
    document.attachments["file \(random.below(3))"] = Document.Attachment(
      contentType: "x/\(random.below(2))", [UInt8](repeating: byte, count: size))
    if random.below(3) == 0 {
      let isEncoded = random.below(2) == 0
      document.attachments["file \(random.below(3))"]?.foreignDigest = .init(
        "md5-\(byte)", encoding: isEncoded ? "gzip" : nil, encodedLength: isEncoded ? size : nil)
    }
  }
}

/// The contents of a database that an export with revisions keeps, for comparison.
struct KeptContents: Equatable, CustomStringConvertible {
  private var documents: [String: [Leaf]] = [:]
  private var expiries: [String: Date] = [:]
  private var localDocuments: [String: Value.Object] = [:]
  private var count: Int

  struct Leaf: Equatable {
    var document: Document
    var history: [RevisionID]
    var generations: [String: UInt64]
    var foreignDigests: [String: Document.Attachment.ForeignDigest?]
  }

  init(_ database: Database) throws {
    let snapshot = try database.snapshot()
    count = try snapshot.count
    var changes = snapshot.changes()
    while let change = try changes.next() {
      let entry = try #require(try snapshot.view.entry(change.id))
      let tree = try snapshot.view.tree(of: entry, change.id)
      documents[change.id] = try zip(snapshot.leaves(of: change.id), tree.leaves).map {
        leaf, index in
        Leaf(
          document: leaf, history: tree.history(of: index).map(\.revision),
          generations: leaf.attachments.mapValues(\.generation),
          foreignDigests: leaf.attachments.mapValues(\.foreignDigest))
      }
      expiries[change.id] = try snapshot.expiry(of: change.id)
    }
    for id in try snapshot.localDocumentIDs() {
      localDocuments[id] = try snapshot.localDocument(id)
    }
  }

  /// The number of documents that have more than one leaf.
  var conflictCount: Int { documents.values.count { $0.count > 1 } }

  var description: String {
    documents.sorted { $0.key < $1.key }.map { id, leaves in
      "\(id): "
        + leaves.map { "\($0.history) \($0.document.json.prefix(40))" }.joined(separator: ", ")
    }.joined(separator: "\n")
  }
}
