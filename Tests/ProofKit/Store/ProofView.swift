package import Divan

/// A view whose rows distinguish every version of every document from all others.
package enum ProofView {
  package static let view = MapReduceView("every revision", version: "1") { document, emit in
    emit(text(document.revision), document["version"])
  }

  private static func text(_ revision: RevisionID?) -> Value {
    .string(revision.map { "\($0)" } ?? "none")
  }

  /// Throws unless the rows are those that result from mapping every document again.
  package static func check(_ database: Database) throws {
    let snapshot = try database.snapshot()
    var expected: [String] = []
    var documents = snapshot.documents()
    while let document = try documents.next() {
      expected.append(
        line(text(document.revision), document["version"] ?? .null, document.id))
    }
    let found = try snapshot.rows(of: view).map { line($0.key, $0.value, $0.sourceID ?? "") }
    guard found.sorted() == expected.sorted() else {
      throw CrashOracle.Mismatch("the rows of a view are \(found), of the documents \(expected)")
    }
  }

  private static func line(_ key: Value, _ value: Value, _ id: String) -> String {
    "\(key.json) \(value.json) \(id)"
  }
}
