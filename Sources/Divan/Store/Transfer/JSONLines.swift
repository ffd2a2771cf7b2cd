/// The JSON Lines format: documents as one JSON object per line, for other programs and stores.
///
/// ``Snapshot/exportJSONLines(to:options:progress:)-8y63a`` writes it, and
/// ``Database/importJSONLines(from:options:progress:)-ixhr`` reads it.
///
/// ```
/// {"_id":"m","_rev":"1-67458072f2570840e56011f175122826","title":"M","year":1931}
/// ```
///
/// Names that begin with an underscore have the same meaning as in CouchDB: `_id`, `_rev`,
/// `_deleted`, `_revisions`, `_attachments`. You can import any file of JSON objects, also without
/// these names. `docs/JSON_LINES.md` has all details.
public enum JSONLines {
  /// The progress of an export or import.
  ///
  /// ```swift
  /// let total = try database.exportJSONLines(to: file) { progress in
  ///   print(progress.documentCount, "of", progress.totalDocumentCount ?? 0)
  /// }
  /// ```
  public struct Progress: Sendable, Equatable {
    /// The number of live documents exported, or of lines imported.
    public internal(set) var documentCount = 0
    /// The number of documents that an import has committed; they stay if it ends now.
    public internal(set) var storedCount = 0
    /// The number of documents to export; nil for an import.
    ///
    /// For a past version it may be an estimate.
    public internal(set) var totalDocumentCount: Int?
    /// The number of bytes of text written or read.
    public internal(set) var byteCount = 0
    /// The number of bytes to read; nil for an export, and if it is not known.
    public internal(set) var totalByteCount: Int?

    init(totalDocumentCount: Int? = nil, totalByteCount: Int? = nil) {
      self.totalDocumentCount = totalDocumentCount
      self.totalByteCount = totalByteCount
    }
  }

  /// Options for an export.
  ///
  /// ```swift
  /// let options = JSONLines.ExportOptions(content: [], order: .bySequence)
  /// try database.exportJSONLines(to: path, options: options)
  /// ```
  public struct ExportOptions: Sendable {
    /// The content to export in addition to the documents' properties; everything by default.
    public var content: Content
    /// The order of the documents; by ID by default.
    public var order: Order
    /// The maximum number of attachment bytes within a document's line; 1 MiB by default.
    ///
    /// Larger content is written before the document, in separate lines of 256 KiB of content each,
    /// which only Divan reads. So an export never takes more memory than this and a document. For
    /// programs that need all content within the documents, set a larger number.
    public var inlineSizeLimit = 1 << 20

    /// Creates options.
    public init(content: Content = .everything, order: Order = .byID) {
      self.content = content
      self.order = order
    }

    /// Optional parts of an export.
    ///
    /// ```swift
    /// var options = JSONLines.ExportOptions()
    /// options.content.remove(.localDocuments)
    /// try database.exportJSONLines(to: path, options: options)
    /// ```
    ///
    /// The properties, IDs and revision IDs of documents that are not deleted are always exported.
    public struct Content: OptionSet, Sendable {
      /// The raw bits, one for each part.
      public let rawValue: UInt8

      /// Creates a set of parts from raw bits.
      public init(rawValue: UInt8) { self.rawValue = rawValue }

      /// The content of attachments.
      ///
      /// Without it, lines contain only the attachments' metadata.
      public static let attachments = Content(rawValue: 1)
      /// All leaves of each document's revision tree, one per line: conflicts and deletions too.
      ///
      /// Each line has the IDs of the leaf's ancestors. Importing them makes the same trees,
      /// winners and revision IDs. The contents of ancestors are not exported.
      public static let revisions = Content(rawValue: 2)
      /// Local documents.
      public static let localDocuments = Content(rawValue: 4)
      /// The expiry times of documents.
      public static let expiries = Content(rawValue: 8)
      /// All parts.
      public static let everything: Content = [
        .attachments, .revisions, .localDocuments, .expiries,
      ]
    }

    /// The order of documents.
    ///
    /// ```swift
    /// let byChange = JSONLines.ExportOptions(order: .bySequence)
    /// try database.exportJSONLines(to: file, options: byChange)
    /// ```
    public enum Order: Sendable {
      /// By the bytes of their IDs.
      case byID
      /// By their latest changes; importing keeps this order.
      case bySequence
    }
  }

  /// Options for an import.
  ///
  /// ```swift
  /// let options = JSONLines.ImportOptions(
  ///   onExisting: .skip, onInvalidLine: .skip, idProperty: "code")
  /// try database.importJSONLines(from: path, options: options)
  /// ```
  public struct ImportOptions: Sendable {
    /// The handling of a line whose document exists with other content; an error by default.
    ///
    /// It does not apply to lines with `_revisions`, which are added to the known revisions of
    /// their document. A deleted document counts as missing.
    public var onExisting = Existing.fail
    /// The handling of bad lines; by default they end the import.
    public var onInvalidLine = BadLines.fail
    /// The name of the property that is the ID of documents without `_id`, a string or an integer.
    ///
    /// If this is nil, such documents get new IDs. The property stays in the document.
    public var idProperty: String?
    /// The number of the first line to import, beginning with 1.
    ///
    /// To continue after an import that failed, set it to ``ImportReport/lineCount`` plus 1.
    public var firstLine = 1
    /// The number of documents per transaction; 2,000 by default.
    ///
    /// There are fewer if they have more than 4 MiB together.
    public var transactionCountLimit = 2000
    /// The maximum size of a line in bytes; 128 MiB by default, and at most 1 GiB.
    ///
    /// Importing takes several times the memory of the longest line. No line that Divan exports is
    /// longer than the default, unless you raise ``ExportOptions/inlineSizeLimit``.
    public var lineSizeLimit = 128 << 20

    /// Creates options.
    public init(
      onExisting: Existing = .fail, onInvalidLine: BadLines = .fail, idProperty: String? = nil
    ) {
      self.onExisting = onExisting
      self.onInvalidLine = onInvalidLine
      self.idProperty = idProperty
    }

    /// The handling of a line whose document exists with other content.
    ///
    /// ```swift
    /// let options = JSONLines.ImportOptions(onExisting: .skip)
    /// let report = try database.importJSONLines(from: exported, options: options)
    /// print(report.storedCount, "stored,", report.skippedCount, "skipped")
    /// ```
    public enum Existing: Sendable {
      /// The line is a bad line, with the error ``DatabaseError/Code/conflict``.
      case fail
      /// The line is skipped.
      case skip
      /// The line is stored as the document's next revision.
      case replace
    }

    /// The handling of a line that is not JSON or cannot be stored.
    ///
    /// ```swift
    /// let options = JSONLines.ImportOptions(onInvalidLine: .skip, idProperty: "title")
    /// let report = try copy.importJSONLines(from: "Films.jsonl", options: options)
    /// let wrong = report.errors.map(\.description)
    /// ```
    public enum BadLines: Sendable {
      /// The line ends the import, and nothing of its transaction is stored.
      case fail
      /// The line is skipped and reported in ``ImportReport/errors``.
      case skip
    }
  }
}
