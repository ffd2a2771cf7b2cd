import Divan

extension CouchDBService {
  /// The limits of a service, in bytes, counts and times.
  ///
  /// ```swift
  /// var limits = CouchDBService.Limits()
  /// limits.attachmentSize = 100 << 20
  /// limits.requestsPerSecond = 50
  /// ```
  ///
  /// A request beyond a limit is refused with CouchDB's status: 413 or 414 for a size, 429 for a
  /// rate, 431 for headers, and 503 if there is too much to do. What takes too long while an answer
  /// is sent cuts it.
  public struct Limits: Sendable, Hashable {
    /// The size of a document's JSON in bytes, without its attachments.
    public var documentSize = DocumentLimits.sizeInBytes
    /// The size of a body with JSON in bytes.
    public var bodySize = 64 << 20
    /// The size of an attachment in bytes.
    public var attachmentSize = 1 << 30
    /// The size of the attachments of one document that are sent in its JSON, in bytes.
    ///
    /// Larger ones must be requested as multipart, or one by one.
    public var inlineAttachmentSize = 16 << 20
    /// The size of a local document in bytes; replicators keep their logs there.
    public var localDocumentSize = 256 << 10
    /// The size of a filter's selector in bytes of JSON.
    public var selectorSize = 16 << 10
    /// The time in which the filter of an answer must have evaluated its documents.
    ///
    /// A feed that waits begins again with it.
    public var filterTime = Duration.seconds(60)
    /// The size of the URL in bytes.
    public var urlSize = 16 << 10
    /// The size of all headers in bytes.
    public var headerSize = 32 << 10
    /// The number of requests that are answered at once, without waiting feeds.
    public var concurrentRequests = 256
    /// The number of feeds that wait for changes at once.
    public var waitingFeeds = 4096
    /// The memory for bodies of all requests together, in bytes.
    public var bodyMemory = 256 << 20
    /// The number of requests of each user in a second, on average.
    ///
    /// All requests without a user count together.
    public var requestsPerSecond = 2000.0
    /// The number of requests of each user that may come at once.
    public var requestBurst = 4000.0
    /// The number of passwords of each user that are checked in a second, on average.
    ///
    /// A password that was right once is remembered, and not checked again.
    public var passwordChecksPerSecond = 1.0
    /// The number of passwords of each user that may come at once.
    public var passwordCheckBurst = 10.0

    /// Creates the default limits.
    public init() {}
  }
}
