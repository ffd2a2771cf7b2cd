import Divan

/// Divan's full-text index of documents.
extension DivanEngine: TextEngine {
  func putTexts(_ texts: [SampleText]) throws {
    try database.write { transaction in
      try transaction.put(
        contentsOf: texts.lazy.map {
          Divan.Document(id: $0.id, ["title": .string($0.title), "body": .string($0.body)])
        })
    }
  }

  func addTextIndex() throws {
    try database.addIndex(DocumentIndex("text", fullText: "title", "body"))
  }

  private func query(_ question: TextQuestion) -> Query<Divan.Document> {
    Query().filter(.matches(.fullText(question.text), index: "text"))
  }

  func countTexts(_ question: TextQuestion) throws -> Int {
    try database.snapshot().count(query(question))
  }

  func topTexts(_ question: TextQuestion, limit: Int) throws -> [String] {
    try database.snapshot().ids(query(question).sort(.relevance).limit(limit))
  }

  func updateText(_ id: String, body: String) throws {
    try database.write { transaction in
      guard let document = try transaction.document(id) else { throw PeerError("no text \(id)") }
      var properties = document.properties
      properties["body"] = .string(body)
      try transaction.replace(id, with: properties)
    }
  }

  func settleTexts() throws { try reopen() }
}
