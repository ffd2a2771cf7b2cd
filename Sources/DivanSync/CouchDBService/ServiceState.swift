import Divan
import Foundation
import Synchronization

/// What the requests of a service share: counters, and secrets that live as long as the process.
final class ServiceState: Sendable {
  let limits: CouchDBService.Limits
  /// How the regular expressions of requests are matched.
  let patternMatching: PatternMatching
  /// The memory for bodies of requests.
  let memory: Counter<ServiceClient>
  /// The memory for answers.
  let answerMemory: Counter<ServiceClient>
  /// Documents that take more memory than a client may have.
  let largeDocuments = Counter<ServiceClient>(1, each: 1)
  let passwords: PasswordChecker
  /// Opens when the feeds that wait are to end.
  let stop = Gate(isOpen: false)
  /// The key of the cookies, which never leave the process.
  let cookieKey = HMAC256.Key.random()
  /// The digests of attachments that were found to be damaged while they were sent.
  private let damagedContents = Mutex<Set<String>>([])
  private static let damagedContentLimit = 1000
  private let requests: Counter<ServiceClient>
  /// Requests without a user, if there are users: they cannot keep users out.
  private let strangers: Counter<ServiceClient>
  private let feeds: Counter<ServiceClient>
  private let requestRates: RateLimiter<ServiceClient>

  init(_ configuration: CouchDBService.Configuration) {
    limits = configuration.limits
    patternMatching = configuration.allowsBacktracking ? .backtracking : .linear
    memory = Counter(limits.bodyMemory, each: limits.bodyMemory / 2)
    answerMemory = Counter(limits.answerMemory, each: limits.answerMemory / 2)
    passwords = PasswordChecker(configuration)
    requests = Counter(limits.concurrentRequests, each: limits.concurrentRequestsPerClient)
    strangers = Counter(
      limits.requestsWithoutUser, each: max(1, limits.requestsWithoutUser / 4))
    feeds = Counter(limits.waitingFeeds, each: limits.waitingFeedsPerUser)
    requestRates = RateLimiter(rate: limits.requestsPerSecond, burst: limits.requestBurst)
  }

  /// Counts a request until its slot is released, and its memory for the same client.
  ///
  /// - Throws: ``ServiceError`` with the status 429 or 503.
  func count(_ call: ServiceCall, _ authentication: Authentication) throws {
    let client = ServiceClient(user: authentication.user?.name, address: call.address)
    try requestRates.take(client)
    let isStranger = authentication.isRequired && authentication.user == nil
    let key = client.isUnknown ? nil : client
    try call.slot.take(isStranger ? strangers : requests, key, "requests")
    call.memory.assign(to: key)
    call.answerMemory.assign(to: key)
  }

  /// Counts a feed of a user, or of an address, until its slot is released.
  ///
  /// - Throws: ``ServiceError`` with the status 503.
  func takeFeed(of user: String?, at address: ClientAddress?) throws -> Slot {
    let slot = Slot()
    let client = ServiceClient(user: user, address: address)
    try slot.take(feeds, client.isUnknown ? nil : client, "feeds")
    return slot
  }

  /// Remembers that the content of an attachment is damaged.
  func noteDamage(of digest: String) {
    damagedContents.withLock { digests in
      guard digests.count < Self.damagedContentLimit else { return }
      digests.insert(digest)
    }
  }

  /// Whether the content of an attachment was found to be damaged before.
  func hasFoundDamage(of digest: String) -> Bool {
    damagedContents.withLock { $0.contains(digest) }
  }
}
