/// Documents as lines of JSON, one object a line, for other programs and other stores: what
/// ``Snapshot/exportJSONLines(to:options:progress:)-1upqc`` writes and
/// ``Database/importJSONLines(from:options:progress:)-33041`` reads.
///
/// ```
/// {"_id":"m","_rev":"1-67458072f2570840e56011f175122826","title":"M","year":1931}
/// ```
///
/// Names that begin with an underscore mean what they mean to CouchDB: `_id`, `_rev`, `_deleted`,
/// `_revisions`, `_attachments`. Any file of JSON objects can be imported, also without them.
/// `docs/JSON_LINES.md` says everything.
public enum JSONLines {
  /// How far an export or an import has got.
  public struct Progress: Sendable, Equatable {
    /// How many documents were exported that are not deleted; how many lines are done with of an import.
    public internal(set) var documentCount = 0
    /// How many documents there are to be exported; nil for an import.
    ///
    /// Of a past version it may be an estimate.
    public internal(set) var totalDocumentCount: Int?
    /// How many bytes of text were written or read.
    public internal(set) var byteCount = 0
    /// How many bytes there are to be read; nil for an export, and where that is not known.
    public internal(set) var totalByteCount: Int?

    init(totalDocumentCount: Int? = nil, totalByteCount: Int? = nil) {
      self.totalDocumentCount = totalDocumentCount
      self.totalByteCount = totalByteCount
    }
  }

  /// What is exported, and how.
  public struct ExportOptions: Sendable {
    /// What is exported besides the documents' properties; everything, unless set.
    public var content: Content
    /// In which order; that of the IDs, unless set.
    public var order: Order
    /// How many bytes of attachments stand in the line of their document, at most; 1 MiB, unless set.
    ///
    /// What exceeds that is written before it, in lines of its own with 256 KiB of content each, which only
    /// Divan reads. So an export never takes more memory than this and a document. Programs that want
    /// all content within the documents need a larger number.
    public var inlineSizeLimit = 1 << 20

    /// Makes options.
    public init(content: Content = .everything, order: Order = .byID) {
      self.content = content
      self.order = order
    }

    /// What is exported besides the properties of documents that are not deleted, their IDs and their
    /// revisions' IDs.
    public struct Content: OptionSet, Sendable {
      /// One bit for each.
      public let rawValue: UInt8

      /// Makes a set of bits.
      public init(rawValue: UInt8) { self.rawValue = rawValue }

      /// The content of attachments.
      ///
      /// Without it lines only say what is attached.
      public static let attachments = Content(rawValue: 1)
      /// All leaves of each document's revision tree, a line each, with the IDs of the revisions before
      /// them: conflicts and deletions too.
      ///
      /// Importing them makes the same trees, winners and revision IDs. The contents of revisions before
      /// the leaves are not exported.
      public static let revisions = Content(rawValue: 2)
      /// Local documents.
      public static let localDocuments = Content(rawValue: 4)
      /// When documents expire.
      public static let expiries = Content(rawValue: 8)
      /// All of it.
      public static let everything: Content = [
        .attachments, .revisions, .localDocuments, .expiries,
      ]
    }

    /// The order of documents.
    public enum Order: Sendable {
      /// That of the bytes of their IDs.
      case byID
      /// That of their latest changes, which importing keeps.
      case bySequence
    }
  }

  /// How lines are taken that are imported.
  public struct ImportOptions: Sendable {
    /// What becomes of a line whose document is there already, with other content; it is an error, unless
    /// set.
    ///
    /// Not asked for lines with `_revisions`, which are added to what is known of their document. A
    /// document that is deleted counts as one that is not there.
    public var existing = Existing.fail
    /// What becomes of lines with which something is wrong; they end the import, unless set.
    public var badLines = BadLines.fail
    /// The name of the property whose value, a text or a whole number, is the ID of documents without
    /// `_id`; they get new IDs if this is nil.
    ///
    /// The property stays one of the document's.
    public var idProperty: String?
    /// The line with which to begin, from 1 on, as after an import that failed:
    /// ``ImportReport/lineCount`` plus 1.
    public var firstLine = 1
    /// How many documents are committed together; 2,000, unless set.
    ///
    /// Fewer, if they have more than 4 MiB together.
    public var transactionCountLimit = 2000
    /// How many bytes a line may have; 128 MiB, unless set, and at most 1 GiB.
    ///
    /// Importing takes several times the memory of the longest line. No line that Divan exports is longer
    /// than the default, unless ``ExportOptions/inlineSizeLimit`` was raised.
    public var lineSizeLimit = 128 << 20

    /// Makes options.
    public init(
      existing: Existing = .fail, badLines: BadLines = .fail, idProperty: String? = nil
    ) {
      self.existing = existing
      self.badLines = badLines
      self.idProperty = idProperty
    }

    /// What becomes of a line whose document is there already, with other content.
    public enum Existing: Sendable {
      /// It is a bad line, by the error ``DatabaseError/Code/conflict``.
      case fail
      /// The line is left out.
      case skip
      /// What the line says is stored as the document's next revision.
      case replace
    }

    /// What becomes of a line that is no JSON, or cannot be stored.
    public enum BadLines: Sendable {
      /// It ends the import, and nothing of its transaction is stored.
      case fail
      /// It is left out, and the report says so (``ImportReport/refusals``).
      case skip
    }
  }
}
