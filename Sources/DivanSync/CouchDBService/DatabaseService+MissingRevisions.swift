import Divan

extension DatabaseService {
  /// Answers which of the offered revisions are missing here.
  ///
  /// It takes time in proportion to their number, and ends between two parts if it is cancelled.
  func missingRevisions(_ call: ServiceCall, isOldForm: Bool) async throws -> HTTPResponse {
    var rest = try offeredRevisions(try await call.jsonObject())[...]
    var members: [(String, Value)] = []
    while !rest.isEmpty {
      try Task.checkCancellation()
      let part = rest.prefix(Self.offerCount)
      rest = rest.dropFirst(Self.offerCount)
      members += try await database.read { snapshot in
        try part.compactMap { offer in
          try snapshot.missing(of: offer).map { (offer.id, $0.member(isOldForm: isOldForm)) }
        }
      }
    }
    // Members are ordered once: each that is set alone moves the ones after it.
    let answer = Value.object(Value.Object(members))
    let response = HTTPResponse.json(200, isOldForm ? ["missing_revs": answer] : answer)
    try call.answerMemory.hold(response.headers["content-length"].flatMap { Int($0) } ?? 0)
    return response
  }

  /// How many documents are looked up at once.
  private static var offerCount: Int { 500 }

  /// The revisions of a document that a client has.
  ///
  /// Documents are in a list: as keys of a dictionary, IDs of other bytes could be equal.
  fileprivate struct Offer: Sendable {
    let id: String
    let revisions: [RevisionID]
  }

  private func offeredRevisions(_ members: Value.Object) throws -> [Offer] {
    let limit = limits.offeredRevisions
    let tooMany = ServiceError(
      413, "too_large", "A request may ask about \(limit) revisions. Ask about fewer at once.")
    guard members.count <= limit else { throw tooMany }
    var count = 0
    return try members.map { id, revisions in
      guard let list = revisions.arrayValue else {
        throw ServiceError.badRequest("The revisions of a document must be a list.")
      }
      count += max(1, list.count)
      guard count <= limit else { throw tooMany }
      return Offer(id: id, revisions: try list.map { try ServiceCall.revision($0.stringValue) })
    }
  }
}

extension Snapshot {
  /// Returns the missing ones of a document's revisions; nil if there are none.
  fileprivate func missing(of offer: DatabaseService.Offer) throws -> MissingRevisions? {
    do {
      return try missingRevisions(among: [offer.id: offer.revisions])[offer.id]
    } catch let error as DatabaseError where error.code == .damaged {
      // Storing one of them reports the damage, and stores nothing.
      return MissingRevisions(missing: offer.revisions)
    }
  }
}

extension MissingRevisions {
  /// The entry of an answer.
  fileprivate func member(isOldForm: Bool) -> Value {
    func list(_ revisions: [RevisionID]) -> Value {
      .array(revisions.map { .string($0.description) })
    }
    guard !isOldForm else { return list(missing) }
    var entry: Value.Object = ["missing": list(missing)]
    if !possibleAncestors.isEmpty { entry["possible_ancestors"] = list(possibleAncestors) }
    return .object(entry)
  }
}
