import Divan

// MARK: Servers without `_bulk_get`

extension CouchDBPeer {
  /// The number of documents that are requested at the same time.
  private static var documentCount: Int { 8 }
  /// The number of revisions in a request; a server refuses a long URL.
  private static var revisionCount: Int { 50 }

  /// Reads the revisions of each document with a request of its own.
  ///
  /// `latest=true` is not used: its answer would be other revisions than those that were requested,
  /// and these are in the changes that follow.
  func openRevisions(
    _ requests: ArraySlice<RevisionRequest>, sizeLimit: Int
  ) async throws -> [RevisionAnswer] {
    var documents: [ArraySlice<RevisionRequest>] = []
    var rest = requests
    while let first = rest.first, documents.count < Self.documentCount {
      let id = Array(first.id.utf8)
      documents.append(rest.prefix(Self.revisionCount).prefix { Array($0.id.utf8) == id })
      rest = rest.dropFirst(documents.last?.count ?? 1)
    }
    let sizeLimit = min(sizeLimit, Self.documentSizeLimit / Self.documentCount)
    let read = try await withThrowingTaskGroup(of: (Int, [RevisionAnswer]?).self) { group in
      for (number, document) in documents.enumerated() {
        group.addTask {
          do {
            return (number, try await self.openRevisions(of: document, sizeLimit: sizeLimit))
          } catch let error as ReplicationError where error.code == .invalidAnswer {
            return (number, nil)
          }
        }
      }
      return try await group.reduce(into: [Int: [RevisionAnswer]]()) { $0[$1.0] = $1.1 }
    }
    var answers: [RevisionAnswer] = []
    for number in documents.indices {
      guard let document = read[number] else { break }
      answers += document
    }
    guard answers.isEmpty else { return answers }
    // The first answer is large or invalid, so its first revision is requested alone.
    do {
      return try await openRevisions(of: requests.prefix(1), sizeLimit: Self.documentSizeLimit)
    } catch let error as ReplicationError where error.code == .invalidAnswer {
      return [.failed(error)]
    }
  }

  /// Reads revisions of one document.
  private func openRevisions(
    of requests: ArraySlice<RevisionRequest>, sizeLimit: Int
  ) async throws -> [RevisionAnswer] {
    let id = requests.first?.id ?? ""
    let revisions = Value.array(requests.map { .string($0.revision.description) })
    let target = CouchDBConnection.Target(
      "GET", CouchDBConnection.encoded(id),
      query: Self.documentQuery + [("open_revs", revisions.json)])
    do {
      let answer = try await connection.json(target, sizeLimit: sizeLimit)
      guard let entries = answer.arrayValue else {
        throw CouchDBDocument.invalid("the answer is not an array of revisions", id)
      }
      return try answers(
        to: requests,
        in: entries.map { entry in
          guard let missing = entry["missing"] else { return entry }
          return ["error": ["id": .string(id), "rev": missing, "error": "not_found"]]
        })
    } catch let error as ReplicationError where error.code == .notFound {
      // The database must exist; a document need not.
      _ = try await connection.json(CouchDBConnection.Target("GET"))
      return requests.map { _ in .gone }
    } catch let error as ReplicationError where [.forbidden, .refused].contains(error.code) {
      return requests.map { _ in .failed(error) }
    }
  }
}
