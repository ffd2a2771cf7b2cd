import Divan
import Foundation

/// The parameters of `_changes`.
struct ChangesRequest: Sendable {
  enum Feed: String, Sendable { case normal, longpoll, continuous, eventsource }

  /// Where the changes begin.
  enum Start: Sendable {
    case beginning
    case now
    case after(String)
  }

  var since = Start.beginning
  var limit = Int.max
  var feed = Feed.normal
  var isDescending = false
  /// Whether all leaves are listed, and not only the winner.
  var hasAllLeaves = false
  var includesDocuments = false
  var documentOptions = DocumentOptions()
  var filter = ReplicationFilter.all
  /// The number of rows of which one has a position; CouchDB computes positions slowly.
  var positionInterval = 1
  /// How often a line break is sent while there is no change; nil if never.
  var heartbeat: Duration?
  /// How long a feed waits for a change; nil if it always goes on.
  var timeout: Duration?

  init(_ call: ServiceCall, _ matching: PatternMatching) async throws {
    if let text = call.query["feed"] {
      guard let feed = Feed(rawValue: text) else { throw ServiceCall.invalid("feed", text) }
      self.feed = feed
    }
    let since = call.query["since"] ?? call.headers["last-event-id"] ?? "0"
    switch since {
    case "0", "": break
    case "now": self.since = .now
    // Some clients send the text as JSON.
    default: self.since = .after(since.trimmingCharacters(in: CharacterSet(charactersIn: "\"")))
    }
    limit = try call.number("limit") ?? .max
    // CouchDB's longpoll and continuous feeds read a limit of 0 as 1.
    if feed != .normal { limit = max(1, limit) }
    isDescending = try call.isOn("descending")
    switch call.query["style"] {
    case nil, "main_only": break
    case "all_docs": hasAllLeaves = true
    case let text?: throw ServiceCall.invalid("style", text)
    }
    includesDocuments = try call.isOn("include_docs")
    documentOptions.conflicts = try call.isOn("conflicts")
    documentOptions.isInline = try call.isOn("attachments")
    documentOptions.leavesLargeOut = true
    positionInterval = max(1, try call.number("seq_interval") ?? 1)
    try readTimes(call)
    try await readFilter(call, matching)
  }

  private mutating func readTimes(_ call: ServiceCall) throws {
    let longest = 24 * 3600 * 1000
    let silence = call.limits.longestSilence
    switch call.query["heartbeat"] {
    case nil, "false": break
    case "true": heartbeat = silence
    default:
      let number = try call.number("heartbeat") ?? 0
      let wanted = min(silence, .milliseconds(min(longest, number)))
      heartbeat = max(call.limits.shortestHeartbeat, wanted)
    }
    timeout = heartbeat == nil ? silence : nil
    if let number = try call.number("timeout") {
      let wanted = Duration.milliseconds(min(longest, number))
      timeout = heartbeat == nil ? min(silence, wanted) : wanted
    }
  }

  private mutating func readFilter(
    _ call: ServiceCall, _ matching: PatternMatching
  ) async throws {
    switch call.query["filter"] {
    case nil, "": break
    case "_doc_ids":
      var list: Value?
      if call.method == "POST" {
        list = try await call.jsonObject()["doc_ids"]
      } else {
        list = try call.value("doc_ids")
      }
      guard let ids = list?.arrayValue else {
        throw ServiceError.badRequest("`doc_ids` filter parameter is not a list of doc ids.")
      }
      filter = .documentIDs(ids.compactMap(\.stringValue))
    case "_selector":
      let selector = try await call.jsonObject()["selector"] ?? .null
      guard selector.json.utf8.count <= call.limits.selectorSize else {
        throw ServiceError(413, "too_large", "The selector is too large.")
      }
      do {
        filter = .selector(try MangoSelector(selector, matching))
      } catch {
        throw ServiceError.badRequest(error.message)
      }
    case let name?:
      throw ServiceError(404, "not_found", "The filter `\(name.prefix(100))` is not answered here.")
    }
  }
}

extension ChangesRequest {
  /// Returns the leaf revisions of a changed document that the answer lists; none if it is skipped.
  ///
  /// - Throws: ``SelectorFailure/timeIsOver``.
  func revisions(
    of change: Change, in snapshot: Snapshot, until deadline: ContinuousClock.Instant
  ) throws -> [RevisionID] {
    let leaves = try filter.leaves(of: change, in: snapshot, until: deadline)
    return hasAllLeaves ? leaves : leaves.filter { $0 == change.revision }
  }
}
