import Divan
import Foundation

extension DatabaseService {
  /// Answers with the changes in rows, as they are read.
  func changes(_ call: ServiceCall) async throws -> HTTPResponse {
    if call.method == "POST" { try call.requireJSON() }
    let request = try await ChangesRequest(call, state.patternMatching)
    let end = try await database.read { $0.sequence }
    var stream = ChangesStream(self, request, since: 0, through: end)
    switch request.since {
    case .beginning: break
    case .now: stream.position = end
    case .after(let text):
      // CouchDB ignores the start of a descending feed, too.
      guard !request.isDescending else { break }
      guard let start = FeedPosition(text), start.storeID == database.storeID, start.sequence <= end
      else { throw ServiceError(ReplicationError(.unknownPosition, "")) }
      stream.position = start.sequence
    }
    if request.feed != .normal {
      stream.slot = try state.takeFeed(of: access.user, at: call.address)
      // A feed that waits costs little, so it does not keep others from being answered.
      let waitsAtOnce = stream.position >= end && !request.isDescending
      if waitsAtOnce { call.slot.release() } else { stream.requestSlot = call.slot }
    }
    let type = request.feed == .eventsource ? "text/event-stream" : "application/json"
    return HTTPResponse(
      status: 200, headers: ["content-type": type],
      body: HTTPBody(call.answerMemory) { [stream] in
        var stream = stream
        return { try await stream.next()?.parts }
      })
  }
}

/// The rows of changes, in their order or in the opposite one, until the feed ends.
struct ChangesStream: Sendable {
  private enum Phase { case start, rows, end, done }

  private let service: DatabaseService
  private let request: ChangesRequest
  /// The sequence number after which the next rows are read; before which, in descending order.
  var position: UInt64
  /// Counts the feed.
  var slot: Slot?
  /// Counts the feed as a request until it waits.
  var requestSlot: Slot?
  /// The last change of a normal feed: what comes later is for the next request.
  private let end: UInt64
  private var phase = Phase.start
  private var rowCount = 0
  /// When the feed ends unless there is a change.
  private var deadline: ContinuousClock.Instant?
  private var backward: BackwardChanges
  private var pendingCount = 0
  /// What the answer leaves out.
  private var omissions = ChangeOmissions()
  /// The time that the filter took since the feed waited last.
  private var filterTime = Duration.zero
  /// Where the answer begins.
  private var origin: UInt64 = 0
  /// When something was sent last.
  private var lastSending = ContinuousClock.now

  init(
    _ service: DatabaseService, _ request: ChangesRequest, since position: UInt64,
    through end: UInt64
  ) {
    self.service = service
    self.request = request
    self.position = position
    self.end = end
    backward = BackwardChanges(through: end)
    if request.isDescending { self.position = end }
  }

  private var isList: Bool { [.normal, .longpoll].contains(request.feed) }

  /// Whether clients ask again where the answer ends; the end of another one looks like the last
  /// change.
  private var isRepeated: Bool { [.longpoll, .continuous].contains(request.feed) }

  /// Returns the next rows, or a line break if there were none for a while; nil at the end.
  mutating func next() async throws -> AnswerParts? {
    while true {
      try Task.checkCancellation()
      let answer: AnswerParts
      switch phase {
      case .start:
        phase = .rows
        origin = position
        answer = AnswerParts(isList ? "{\"results\":[\n" : "\n")
      case .rows: answer = try await nextRows()
      case .end:
        phase = .done
        answer = AnswerParts(trailer)
      case .done: return nil
      }
      if !answer.isEmpty || needsHeartbeat {
        lastSending = .now
        return answer.isEmpty ? AnswerParts(heartbeat) : answer
      }
    }
  }

  /// Whether nothing was sent for long, because the filter includes nothing.
  private var needsHeartbeat: Bool {
    phase == .rows && request.heartbeat.map { ContinuousClock.now - lastSending >= $0 } ?? false
  }

  private var heartbeat: String {
    request.feed == .eventsource ? "event: heartbeat\ndata: \n\n" : "\n"
  }

  private var trailer: String {
    let last =
      "\"last_seq\":\"\(service.position(position))\",\"pending\":\(pendingCount)\(omissions.member)}\n"
    switch request.feed {
    case .normal, .longpoll: return "\n],\n" + last
    case .continuous: return "{" + last
    case .eventsource: return ""
    }
  }

  /// Returns the next rows; empty if there are none yet.
  private mutating func nextRows() async throws -> AnswerParts {
    guard rowCount < request.limit else {
      pendingCount = try await followingCount()
      phase = .end
      return AnswerParts()
    }
    let batch = try await readBatch()
    position = batch.position
    filterTime = batch.filterTime
    var answer = joined(batch.rows)
    if !batch.unreadable.isEmpty {
      for error in batch.unreadable { service.report.send("unreadable_change", error.incident) }
      if request.feed == .eventsource {
        answer.append(ChangeOmissions.comments(batch.unreadable))
        return answer
      }
      omissions.add(batch.unreadable)
      // Only the end of an answer can say so, and the client asks for the rest.
      if request.feed != .normal {
        pendingCount = try await followingCount()
        phase = .end
        return answer
      }
    }
    guard !batch.isOverTime else {
      pendingCount = try await followingCount()
      phase = .end
      return answer
    }
    guard batch.rows.isEmpty else {
      deadline = nil
      // One row ends a longpoll, and a continuous feed goes on.
      if batch.isEnd, request.feed == .longpoll { phase = .end }
      return answer
    }
    guard batch.isEnd else { return AnswerParts() }
    if request.feed == .normal || request.isDescending || isList && rowCount > 0 {
      phase = .end
      return AnswerParts()
    }
    return AnswerParts(try await wait())
  }

  private mutating func joined(_ rows: [AnswerParts]) -> AnswerParts {
    var answer = AnswerParts()
    for row in rows {
      if isList, rowCount > 0 { answer.append(",\n") }
      answer.append(row)
      switch request.feed {
      case .normal, .longpoll: break
      case .continuous: answer.append("\n")
      case .eventsource: answer.append("\n\n")
      }
      rowCount += 1
    }
    return answer
  }

  private func followingCount() async throws -> Int {
    guard !request.isDescending else { return 0 }
    let position = position
    return try await service.database.read { try $0.changeCount(since: position) }
  }

  /// Waits for a change, for the next heartbeat or for the end of the feed.
  private mutating func wait() async throws -> String {
    filterTime = .zero
    requestSlot?.release()
    requestSlot = nil
    let now = ContinuousClock.now
    if deadline == nil { deadline = request.timeout.map { now + $0 } }
    let rest = deadline.map { $0 - now } ?? .seconds(3600)
    guard rest > .zero else {
      phase = .end
      return ""
    }
    let time = min(rest, request.heartbeat ?? rest)
    let stop = service.state.stop
    switch try await service.database.wait(since: position, within: time, stop) {
    case .changed: return ""
    case .elapsed: break
    case .stopped:
      phase = .end
      return ""
    }
    guard request.heartbeat != nil, deadline.map({ ContinuousClock.now < $0 }) ?? true else {
      return ""
    }
    return heartbeat
  }
}

// MARK: Reading rows

extension ChangesStream {
  private struct Batch: Sendable {
    var rows: [AnswerParts] = []
    var position: UInt64
    var isEnd = false
    /// Whether the time of the filter is over.
    var isOverTime = false
    var unreadable: [DatabaseError] = []
    var filterTime: Duration
  }

  private mutating func readBatch() async throws -> Batch {
    let count = request.limit - rowCount
    if request.isDescending { return try await readBackward() }
    let (request, service, rowCount) = (request, service, rowCount)
    let (position, end) = (position, request.feed == .normal ? end : .max)
    let (filterTime, origin, mayEnd) = (filterTime, origin, isRepeated)
    return try await service.database.read { snapshot in
      var batch = Batch(position: position, filterTime: filterTime)
      var cursor = snapshot.changes(since: position)
      var bounds = AnswerBatch(countLimit: service.limits.batchCount)
      while batch.rows.count < count, bounds.begin() {
        let previous = cursor.position
        var id: String?
        do {
          guard let change = try cursor.next(), change.sequence <= end else {
            batch.isEnd = true
            batch.position = max(position, min(end, snapshot.sequence))
            break
          }
          batch.position = change.sequence
          id = change.id
          let revisions = try service.revisions(of: change, request, snapshot, &batch.filterTime)
          guard !revisions.isEmpty else { continue }
          let index = rowCount + batch.rows.count
          let row = try service.row(change, revisions, index, request, snapshot)
          bounds.add(row)
          batch.rows.append(row)
        } catch let error as DatabaseError
          where error.code == .damaged && cursor.position > previous
        {
          // The cursor continues after a change that it cannot read, and so does the next batch:
          // there may be more of them than a batch looks at.
          batch.position = max(batch.position, cursor.position)
          batch.unreadable.append(error.about(id))
        } catch let error as ServiceError where error.isFilterTimeout && mayEnd && previous > origin
        {
          batch.position = previous
          batch.isOverTime = true
          break
        }
      }
      return batch
    }
  }

  private mutating func readBackward() async throws -> Batch {
    let (request, service, rowCount) = (request, service, rowCount)
    let (position, backward, filterTime) = (position, backward, filterTime)
    let (batch, rest) = try await service.database.read { snapshot in
      var backward = backward
      var batch = Batch(position: position, filterTime: filterTime)
      var bounds = AnswerBatch(countLimit: service.limits.batchCount)
      while batch.rows.count < request.limit - rowCount, bounds.begin() {
        guard let change = try backward.next(in: snapshot) else {
          batch.isEnd = true
          break
        }
        do {
          let revisions = try service.revisions(of: change, request, snapshot, &batch.filterTime)
          guard !revisions.isEmpty else { continue }
          let index = rowCount + batch.rows.count
          let row = try service.row(change, revisions, index, request, snapshot)
          bounds.add(row)
          batch.rows.append(row)
          batch.position = change.sequence
        } catch let error as DatabaseError where error.code == .damaged {
          batch.unreadable.append(error.about(change.id))
        }
      }
      batch.unreadable += backward.unreadable
      backward.unreadable = []
      return (batch, backward)
    }
    self.backward = rest
    return batch
  }
}
