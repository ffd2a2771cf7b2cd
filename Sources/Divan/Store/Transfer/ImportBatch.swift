import DivanLog

/// Lines that are committed together.
struct ImportBatch {
  struct Item {
    let line: Int
    let content: Content

    enum Content {
      case document(ImportedDocument)
      case localDocument(id: String, EncodedValue)
    }
  }

  private(set) var items: [Item] = []
  /// The size of the lines as text and of contents from earlier lines in the log, in bytes.
  private(set) var size = 0

  static let sizeLimit = 4 << 20
}

extension ImportBatch {
  mutating func append(_ item: Item, size: Int) {
    items.append(item)
    self.size += size
  }

  mutating func removeAll() {
    items.removeAll(keepingCapacity: true)
    size = 0
  }

  /// The distinct digests in the lines.
  var digests: Set<SHA256.Digest> {
    var digests: Set<SHA256.Digest> = []
    for case .document(let document) in items.map(\.content) {
      digests.formUnion(document.attachments.compactMap(\.digest))
    }
    return digests
  }
}
