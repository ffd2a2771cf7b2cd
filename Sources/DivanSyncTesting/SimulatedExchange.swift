import DivanSync
import DivanTesting
import Foundation
import Synchronization

/// An answer that a caching proxy has kept.
struct SavedAnswer: Sendable {
  let status: Int
  let headers: [String: String]
  let body: Data

  var response: HTTPResponse {
    HTTPResponse(status: status, headers: headers, body: HTTPBody(body))
  }
}

/// One request on its way through a simulated network, and its answer.
struct SimulatedExchange {
  private let request: HTTPRequest
  private let network: SimulatedNetwork
  private let conditions: SimulatedNetwork.Conditions
  private let number: Int
  private var random: SeededGenerator

  init(_ request: HTTPRequest, _ network: SimulatedNetwork) {
    self.request = request
    self.network = network
    (number, conditions) = network.state.withLock { state in
      state.counts.exchanges += 1
      return (state.counts.exchanges, state.conditions)
    }
    // Seeds that follow each other would begin in the same way.
    var seeds = SeededGenerator(seed: network.seed &+ UInt64(number))
    random = SeededGenerator(seed: seeds.next())
  }

  private mutating func happens(_ part: Double) -> Bool {
    Double.random(in: 0..<1, using: &random) < part
  }

  private func note(
    _ fault: WritableKeyPath<SimulatedNetwork.Counts, Int>, _ what: String
  ) {
    network.note(fault, "\(what) \(number) (\(request.method) \(request.url.path))")
  }

  /// Returns a time in the range of the latency.
  private mutating func latency() -> Duration {
    let range = conditions.latency
    let part = Double.random(in: 0...1, using: &random)
    return range.lowerBound + (range.upperBound - range.lowerBound) * part
  }

  mutating func run() async throws -> HTTPResponse {
    // All are drawn, so that a change of one condition leaves the other faults where they are.
    let (losesRequest, losesAnswer) = (
      happens(conditions.lostRequests), happens(conditions.lostAnswers)
    )
    let (isCut, isDuplicated) = (happens(conditions.cuts), happens(conditions.duplicates))
    let (isReordered, isStale) = (
      happens(conditions.reorderings), happens(conditions.staleAnswers)
    )
    let (isDripping, hasProxy) = (happens(conditions.drips), happens(conditions.proxyAnswers))
    if happens(conditions.clockJumps), let clock = network.clock {
      note(\.clockJumps, "the clock jumped before")
      clock.advance(by: .seconds(Int.random(in: -86_400...86_400, using: &random)))
    }
    var line = SimulatedLine(network, seed: random.next())
    if isDripping {
      note(\.drips, "slow")
      line.dripPause = conditions.dripPause
    }
    if isCut { line.planCut(requestSize: try request.transferredSize, &random) }
    try await network.pass(latency())
    if isReordered {
      note(\.reorderings, "overtaken")
      try await letOthersPass()
    }
    guard !losesRequest else {
      note(\.lostRequests, "lost request")
      throw SimulatedNetwork.cutError("the request was lost")
    }
    if isStale, request.method == "GET", let saved = saved {
      note(\.staleAnswers, "stale answer to")
      return try await receive(saved.response, line)
    }
    let page = hasProxy ? proxyPage() : nil
    if let page, !happens(0.5) { return try await receive(page, line) }
    var response = try await deliver(line)
    if isDuplicated {
      note(\.duplicates, "duplicated")
      response = try await deliver(line)
    }
    if conditions.staleAnswers > 0 { response = try await save(response) }
    guard !losesAnswer else {
      note(\.lostAnswers, "lost answer to")
      throw SimulatedNetwork.cutError("the answer was lost")
    }
    try await network.pass(latency())
    if isReordered { try await letOthersPass() }
    if let page { response = page }
    return try await receive(response, line)
  }

  /// Sends the request to the server.
  private func deliver(_ line: SimulatedLine) async throws -> HTTPResponse {
    do {
      try line.transfer(request.headSize, of: .request)
      let response = try await network.server(request, line.carrying(try request.pieces, .request))
      // A server can notice that a request is cut, and answer nevertheless.
      try line.checkRequest()
      network.state.withLock { $0.passedCount += 1 }
      return response
    } catch let error as SimulatedCut {
      note(\.cuts, "cut")
      throw SimulatedNetwork.cutError(error.description)
    }
  }

  /// Returns an answer on its way back.
  private func receive(_ response: HTTPResponse, _ line: SimulatedLine) async throws -> HTTPResponse
  {
    do {
      try line.transfer(response.headSize, of: .answer)
    } catch let error as SimulatedCut {
      note(\.cuts, "cut answer to")
      throw SimulatedNetwork.cutError(error.description)
    }
    var response = response
    let (network, name) = (
      network, "cut answer to \(number) (\(request.method) \(request.url.path))"
    )
    response.body = HTTPBody(
      NotedPieces(base: line.carrying(response.body, .answer)) { network.note(\.cuts, name) })
    return response
  }

  /// Waits until another request has reached the server, or for some milliseconds.
  private func letOthersPass() async throws {
    let before = network.state.withLock { $0.passedCount }
    for _ in 0..<5 where network.state.withLock({ $0.passedCount }) == before {
      try await Task.sleep(for: .milliseconds(1))
    }
  }
}

// MARK: Proxies

extension SimulatedExchange {
  private var saved: SavedAnswer? {
    network.state.withLock { $0.saved[request.url.absoluteString] }
  }

  /// The size of an answer that a proxy keeps at most, and how many it keeps.
  private static var savedSizeLimit: Int { 1 << 20 }
  private static var savedCountLimit: Int { 100 }

  /// Keeps an answer to a `GET` request, if it is not too large.
  private func save(_ response: HTTPResponse) async throws -> HTTPResponse {
    guard request.method == "GET",
      let length = response.headers["content-length"].flatMap({ Int($0) }),
      length <= Self.savedSizeLimit
    else { return response }
    var body = Data()
    for try await piece in response.body { body += piece }
    let answer = SavedAnswer(status: response.status, headers: response.headers, body: body)
    network.state.withLock { state in
      if state.saved.count >= Self.savedCountLimit { state.saved = [:] }
      state.saved[request.url.absoluteString] = answer
    }
    return answer.response
  }

  /// Returns the page of a proxy for people.
  private mutating func proxyPage() -> HTTPResponse {
    let statuses = [200, 302, 400, 403, 404, 405, 429, 500, 502, 503, 504, 511]
    let status = statuses[Int.random(in: 0..<statuses.count, using: &random)]
    note(\.proxyAnswers, "HTML with the status \(status) for")
    let page = Data("<html><body><h1>\(status)</h1>Please log in.</body></html>\r\n".utf8)
    var headers = ["content-type": "text/html; charset=utf-8", "content-length": "\(page.count)"]
    if status == 302 { headers["location"] = "http://login.invalid/" }
    return HTTPResponse(status: status, headers: headers, body: HTTPBody(page))
  }
}
