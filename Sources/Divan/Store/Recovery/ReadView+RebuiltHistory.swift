import DivanLog

extension ReadView {
  /// Whether any record has or had attachments.
  func hasReferences() throws(DatabaseError) -> Bool {
    let prefix = CatalogKey.first(of: .reference)
    var references = state.catalog.scan(
      from: .inclusive(prefix), to: .end(ofPrefix: prefix))
    return try step(&references) != nil
  }

  /// Whether content of a record's attachments is missing; false if the record is unreadable.
  func lacksContent(of retained: RetainedRevisions.Entry) throws(DatabaseError) -> Bool {
    do throws(DatabaseError) {
      let attachments = try record(at: retained.locator).attachments
      for attachment in attachments where try !hasContent(attachment.digest) { return true }
    } catch {
      guard error.code == .damaged else { throw error }
    }
    return false
  }

  private func hasContent(_ digest: SHA256.Digest) throws(DatabaseError) -> Bool {
    guard let locator = try locator(in: \.catalog, CatalogKey.attachment(digest)) else {
      return false
    }
    let payload = try payload(of: .attachment, at: locator)
    guard case .file? = (try? AttachmentRecord.decode(payload))?.content else { return true }
    return try translating { () throws(LogError) in try environment.attachments.hasFile(of: digest)
    }
  }
}
