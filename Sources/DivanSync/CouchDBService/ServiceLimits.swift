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
    /// The number of attachments of one document.
    public var attachmentCount = 5000
    /// The size of the attachments of one document that are sent in its JSON, in bytes.
    ///
    /// Larger ones must be requested as multipart, or one by one. In `_changes` and `_all_docs`
    /// they are stubs; elsewhere the status is 413.
    public var inlineAttachmentSize = 16 << 20
    /// The number of revisions that one request may ask about with `_revs_diff`.
    ///
    /// An ID without revisions counts as one. Replicators ask about some hundred at once.
    public var offeredRevisions = 100_000
    /// The size of a local document in bytes; replicators keep their logs there.
    public var localDocumentSize = 256 << 10
    /// The number of local documents that each user may have in a database.
    ///
    /// Each replication keeps its log in one. A further one takes the place of the one that was
    /// written least recently, whose replication then compares all changes again. Without users, it
    /// is the number of all clients together.
    public var localDocumentCount = 1000
    /// The size of a filter's selector in bytes of JSON.
    public var selectorSize = 16 << 10
    /// The time in which the filter of an answer must have evaluated its documents.
    ///
    /// A feed that waits begins again with it. It is checked within documents, too: one may be
    /// large. Only an expression with all of Swift's syntax is not interrupted
    /// (``CouchDBService/Configuration/allowsBacktracking``).
    public var filterTime = Duration.seconds(60)
    /// The size of the URL in bytes.
    public var urlSize = 16 << 10
    /// The size of all headers in bytes.
    public var headerSize = 32 << 10
    /// The number of requests that are answered at once, without waiting feeds.
    ///
    /// `/_up` does not count.
    public var concurrentRequests = 256
    /// The number of requests of each user that are answered at once.
    ///
    /// Without users, it is that of each address that the server names.
    public var concurrentRequestsPerClient = 128
    /// The number of requests without a user that are answered at once, if there are users.
    ///
    /// They do not count with those of users, so they cannot keep users out. Each address may have
    /// a quarter of them.
    public var requestsWithoutUser = 64
    /// The time in which the name and the password of a new session must arrive.
    public var loginTime = Duration.seconds(10)
    /// The number of feeds that wait for changes at once.
    ///
    /// A feed counts as a request, too, until it waits for the first time.
    public var waitingFeeds = 4096
    /// The number of feeds of each user that wait for changes at once.
    ///
    /// Without users, it is that of each address that the server names.
    public var waitingFeedsPerUser = 512
    /// The shortest time between two heartbeats of a feed; shorter ones are made as long.
    public var shortestHeartbeat = Duration.seconds(1)
    /// The longest time in which a feed sends nothing.
    ///
    /// A connection that was closed is noticed when something is sent. So a feed without heartbeats
    /// ends after this time, and longer ones between heartbeats are made as long.
    public var longestSilence = Duration.seconds(60)
    /// The memory for bodies of all requests together, in bytes.
    ///
    /// A body with JSON also counts the memory of its values, 48 bytes each, and a kibibyte for
    /// each document of `_bulk_docs`. The requests of one user may take half of it; without users,
    /// those of one address that the server names. A request that is too large for that has the
    /// status 413, and 503 if others take too much now. Only a document whose size is allowed, but
    /// which has very many values, is stored beyond the limit, one such document at a time.
    public var bodyMemory = 256 << 20
    /// The memory for all answers that are being sent together, in bytes.
    ///
    /// It counts JSON that was made and not yet taken by its reader. The content of attachments
    /// is read while it is sent, in Base64 too, and takes no more than a piece. An answer for which
    /// too little is left has the status 503, or is cut if it has begun; if it could never be sent,
    /// the status is 413. The answers to one user, or to one address, may take half of it.
    public var answerMemory = 256 << 20
    /// The number of requests of each user in a second, on average.
    ///
    /// Without a user, it is that of each address that the server names.
    public var requestsPerSecond = 2000.0
    /// The number of requests of each user that may come at once.
    public var requestBurst = 4000.0
    /// The number of passwords that are checked in a second, on average, for each name and address.
    ///
    /// Wrong passwords from one address do not keep the user out at another one, if the server
    /// names addresses. All names together, an address has four times as many, and so have all
    /// clients without an address. Passwords are checked one at a time, in turns for the addresses
    /// that wait. A password that was right once is remembered, and not checked again.
    public var passwordChecksPerSecond = 1.0
    /// The number of passwords that may come at once, for each name and address.
    public var passwordCheckBurst = 10.0

    /// The number of changes that are looked at before the rows of some are sent.
    ///
    /// Tests make it small.
    var batchCount = 5000

    /// Creates the default limits.
    public init() {}
  }
}
