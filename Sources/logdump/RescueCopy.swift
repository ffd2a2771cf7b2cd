import Divan
import DivanLog

/// Copies the documents that were salvaged from a damaged log to a new store.
///
/// It copies them with their leaves and histories, their expiry and their whole attachments, and
/// copies local documents. A revision that lost an attachment gets a successor without it, because
/// a revision must have the same content in every store.
struct RescueCopy {
  private let rescue: Rescue
  private let attachments: InspectedAttachments
  /// Whether content that was read is whole, by the text of its digest.
  private var isWhole: [String: Bool] = [:]
  /// The number of documents that were stored and are not deleted.
  private(set) var documentCount = 0
  private(set) var localDocumentCount = 0
  private(set) var losses: [Loss] = []

  /// A part of a document that could not be read.
  struct Loss {
    let id: String
    let part: Part

    enum Part {
      case revision(RevisionID)
      case attachment(String, RevisionID)
      /// The whole local document.
      case localDocument
    }
  }

  /// The limits of one transaction, in documents and in bytes of the log.
  ///
  /// The last document may exceed them, so the new store must allow larger transactions.
  private static let countLimit = 1000
  private static let sizeLimit = 4 << 20

  init(_ rescue: Rescue) {
    self.rescue = rescue
    attachments = rescue.attachments
  }
}

extension RescueCopy {
  /// The number of attachments that were stored; equal ones are counted once.
  var attachmentCount: Int { isWhole.values.count { $0 } }

  /// Stores everything, in order of IDs.
  mutating func run(to database: Database, progress: (Int) -> Void = { _ in }) throws {
    let ids = rescue.locations.keys.map(\.id).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    var next = 0
    while next < ids.count {
      progress(next)
      try database.write(durability: Durability.none) { transaction in
        let end = min(next + RescueCopy.countLimit, ids.count)
        while next < end, transaction.size < RescueCopy.sizeLimit {
          try store(ids[next], in: transaction)
          next += 1
        }
      }
    }
    try storeLocalDocuments(in: database)
  }

  private mutating func storeLocalDocuments(in database: Database) throws {
    let documents = rescue.localDocuments.sorted {
      $0.key.id.utf8.lexicographicallyPrecedes($1.key.id.utf8)
    }
    var next = 0
    while next < documents.count {
      try database.write(durability: Durability.none) { transaction in
        while next < documents.count, transaction.size < RescueCopy.sizeLimit {
          let (key, properties) = documents[next]
          next += 1
          do {
            try transaction.putLocal(key.id, properties)
            localDocumentCount += 1
          } catch let error as DatabaseError where RescueCopy.isOfContent(error) {
            losses.append(Loss(id: key.id, part: .localDocument))
          }
        }
      }
    }
  }

  private mutating func store(_ id: String, in transaction: WriteTransaction) throws {
    guard let location = rescue.locations[DocumentKey(id)] else { return }
    let newest = try rescue.document(at: location)
    for leaf in newest.leaves {
      let key = Rescue.LeafKey(id: DocumentKey(id), sequence: leaf.sequence)
      guard let record = leaf.sequence == newest.sequence ? newest : try rescue.leaf(key) else {
        losses.append(Loss(id: id, part: .revision(leaf.history[0])))
        continue
      }
      do {
        try store(record, leaf.history, in: transaction)
      } catch let error as DatabaseError where RescueCopy.isOfContent(error) {
        // Its checksum is right, but no writer could have written it. The other leaves can still be
        // saved.
        losses.append(Loss(id: id, part: .revision(leaf.history[0])))
      }
    }
    // A deleted document can expire, too.
    if let expiry = newest.expiry, try transaction.revision(of: id) != nil {
      try transaction.setExpiry(expiry, of: id)
    }
    if try transaction.exists(id) { documentCount += 1 }
  }

  /// Whether an error is about the content to be stored, and not about the store.
  private static func isOfContent(_ error: DatabaseError) -> Bool {
    switch error.code {
    case .damaged, .conflict, .invalidDocumentID, .invalidRevisionID, .invalidValue,
      .invalidAttachment, .invalidJSON, .documentTooLarge:
      true
    default: false
    }
  }

  private mutating func store(
    _ record: InspectedDocument, _ history: [RevisionID], in transaction: WriteTransaction
  ) throws {
    var document = Document(id: record.id, revision: nil, record.body)
    var history = history
    document.attachments = record.attachments(from: attachments)
    for (name, attachment) in document.attachments
    where !isWhole(attachment) {
      document.attachments[name] = nil
      losses.append(Loss(id: record.id, part: .attachment(name, record.revision)))
    }
    var origin = record.origin
    if document.attachments.count < record.attachments(from: attachments).count {
      history.insert(try record.revision(with: document.attachments), at: 0)
      // The store that the revision came from does not have its successor.
      origin = nil
    }
    try transaction.insert(
      document, history: history, isDeleted: record.isDeleted, origin: origin)
  }

  /// Whether the content of an attachment can be read to its end, and matches its digest.
  private mutating func isWhole(_ attachment: Document.Attachment) -> Bool {
    guard let digest = attachment.digest else { return false }
    if let known = isWhole[digest] { return known }
    let isReadable: Bool
    do {
      var pieces = try attachment.pieces()
      while try pieces.next() != nil {}
      isReadable = true
    } catch {
      isReadable = false
    }
    isWhole[digest] = isReadable
    return isReadable
  }
}

extension RescueCopy.Loss {
  var fields: [(String, JSONNode)] {
    switch part {
    case .revision(let revision):
      [("document", .text(id)), ("revision", .text("\(revision)")), ("saved", .text("none"))]
    case .attachment(let name, let revision):
      [
        ("document", .text(id)), ("revision", .text("\(revision)")), ("attachment", .text(name)),
        ("saved", .text("none")),
      ]
    case .localDocument: [("localDocument", .text(id)), ("saved", .text("none"))]
    }
  }

  var text: String {
    switch part {
    case .revision(let revision): "lost: revision \(printable("\(revision)")) of \(printable(id))"
    case .attachment(let name, _): "lost: attachment \(printable(name)) of \(printable(id))"
    case .localDocument: "lost: local document \(printable(id))"
    }
  }
}
