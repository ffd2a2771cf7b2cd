import Divan

/// The attachments of some revisions, whose content is stored.
struct StoredAttachments {
  struct Place: Hashable {
    var revision: Int
    var attachment: Int
  }

  var results: [Place: Result<Document.Attachment, any Error>] = [:]
  /// The error that ended storing before the content of all attachments was read.
  var interruption: (any Error)?

  /// Returns an attachment of a revision, by the indexes of both.
  ///
  /// - Throws: The error of this attachment, or the one that ended storing before it was read.
  subscript(revision: Int, attachment: Int) -> Document.Attachment {
    get throws {
      let result = results[Place(revision: revision, attachment: attachment)]
      guard let result else {
        throw interruption ?? ReplicationError(.missingContent, "an attachment was not stored")
      }
      return try result.get()
    }
  }
}

extension DatabasePeer {
  /// What tells that attachments of branches of a document have the same content.
  private struct Key: Hashable {
    var id: [UInt8]
    var digest: String
    var length: Int
    var contentType: String

    init?(_ attachment: ReplicatedAttachment, of id: String) {
      guard let digest = attachment.digest ?? attachment.foreignDigest?.text else { return nil }
      self.digest = digest
      self.id = Array(id.utf8)
      length = attachment.length
      contentType = attachment.contentType
    }
  }

  /// Stores the content of all attachments that are not here, several at the same time.
  ///
  /// The first error that does not concern one revision ends it, after what is being read.
  func storedAttachments(
    of revisions: [ReplicatedRevision]
  ) async throws -> StoredAttachments {
    var stored = StoredAttachments()
    var first: [StoredAttachments.Place] = []
    var later: [(place: StoredAttachments.Place, same: StoredAttachments.Place)] = []
    var places: [Key: StoredAttachments.Place] = [:]
    for (index, revision) in revisions.enumerated() where !revision.attachments.isEmpty {
      let ancestors = try await knownAncestors(of: revision)
      for (number, attachment) in revision.attachments.enumerated() {
        let place = StoredAttachments.Place(revision: index, attachment: number)
        do {
          if let here = try await known(attachment, revision, ancestors) {
            stored.results[place] = .success(here)
            attachment.onSharing?()
            continue
          }
        } catch let error where error.concernsOneRevision {
          stored.results[place] = .failure(error)
          continue
        }
        // Branches of a document often have the same attachments, which are read once.
        let key = Key(attachment, of: revision.document.id)
        if let key, let same = places[key] {
          later.append((place, same))
        } else {
          if let key { places[key] = place }
          first.append(place)
        }
      }
    }
    try await read(first, of: revisions, into: &stored)
    var rest: [StoredAttachments.Place] = []
    for (place, same) in later {
      if case .success(let here)? = stored.results[same] {
        stored.results[place] = .success(here)
        revisions[place.revision].attachments[place.attachment].onSharing?()
      } else {
        rest.append(place)
      }
    }
    try await read(rest, of: revisions, into: &stored)
    return stored
  }

  /// Returns the ancestors of a revision that are here, the newest one first.
  ///
  /// A peer can send a history of a million revisions, which must not be looked through for each
  /// attachment.
  private func knownAncestors(of revision: ReplicatedRevision) async throws -> [RevisionID] {
    let (id, ancestors) = (revision.document.id, Array(revision.history.dropFirst()))
    guard !ancestors.isEmpty else { return [] }
    do {
      let missing = try await database.read {
        Set(try $0.missingRevisions(among: [id: ancestors])[id]?.missing ?? [])
      }
      return ancestors.filter { !missing.contains($0) }
    } catch let error as DatabaseError where error.code == .damaged {
      // Storing the revision reports it.
      return []
    }
  }

  /// Returns the same attachment of another revision that is here: of an ancestor, the newest one
  /// first, or of another branch.
  private func known(
    _ attachment: ReplicatedAttachment, _ revision: ReplicatedRevision, _ ancestors: [RevisionID]
  ) async throws -> Document.Attachment? {
    let id = revision.document.id
    typealias Found = (same: Document.Attachment?, inherited: Document.Attachment?)
    let (same, inherited) = try await database.read { snapshot -> Found in
      var inherited: Document.Attachment?
      for ancestor in ancestors {
        let stored = try snapshot.revision(ancestor, of: id)?.attachments[attachment.name]
        guard let stored else { continue }
        if attachment.isSame(as: stored) { return (stored, inherited) }
        if inherited == nil, attachment.maybeSame(as: stored) { inherited = stored }
      }
      for leaf in try snapshot.leaves(of: id) {
        let same = leaf.attachments.values.first { attachment.isSame(as: $0) }
        if let same { return (same, inherited) }
      }
      return (nil, inherited)
    }
    if let same { return same }
    guard let inherited else { return nil }
    // The other side computed a digest of what was sent from here, in its own way.
    if let check = ContentCheck(attachment.foreignDigest) {
      // Content that cannot be read here is sent again.
      return (try? await inherited.passes(check)) == true ? inherited : nil
    }
    // One of compressed content says nothing. Both sides add it in the same revision then.
    guard inherited.foreignDigest == nil, inherited.generation == attachment.generation
    else { return nil }
    return inherited
  }

  /// Returns the digest of another engine to keep.
  ///
  /// Readers of this store check content by it, so one that is not that of the content is dropped.
  /// Of content that was sent, or that is here, it was checked.
  func keptDigest(
    of attachment: ReplicatedAttachment, _ stored: Document.Attachment
  ) async throws -> Document.Attachment.ForeignDigest? {
    guard case .stored = attachment.content, attachment.digest == nil,
      let check = ContentCheck(attachment.foreignDigest)
    else { return attachment.foreignDigest }
    return try await stored.passes(check) ? attachment.foreignDigest : nil
  }
}

extension ReplicatedAttachment {
  /// Whether a stored attachment is the same, as far as digests can tell.
  fileprivate func isSame(as stored: Document.Attachment) -> Bool {
    guard length == stored.length, contentType == stored.contentType else { return false }
    if let digest { return digest == stored.digest }
    return foreignDigest != nil && foreignDigest == stored.foreignDigest
  }

  /// Whether a stored attachment of an ancestor can be the same though their digests are not of the
  /// same kind.
  fileprivate func maybeSame(as stored: Document.Attachment) -> Bool {
    guard length == stored.length, contentType == stored.contentType else { return false }
    return digest == nil && foreignDigest != nil
  }
}
