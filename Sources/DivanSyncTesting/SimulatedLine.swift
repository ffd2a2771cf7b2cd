import DivanSync
import DivanTesting
import Foundation
import Synchronization

/// A connection was cut.
struct SimulatedCut: Error, CustomStringConvertible {
  let description: String
}

/// The connection of one exchange: it carries bytes, in pieces, up to a cut.
struct SimulatedLine: Sendable {
  enum Direction { case request, answer }

  /// What is still to come before the planned cut, in each direction; nil if there is none.
  private final class Rest: Sendable {
    let state = Mutex<(request: Int?, answer: Int?, isRequestCut: Bool)>((nil, nil, false))
  }

  private let network: SimulatedNetwork
  private let seed: UInt64
  private let rest = Rest()
  /// The pause between small pieces; nil if pieces are as large as usual.
  var dripPause: Duration?

  init(_ network: SimulatedNetwork, seed: UInt64) {
    self.network = network
    self.seed = seed
  }

  /// Plans to cut this connection at a random byte of the request or of the answer.
  func planCut(requestSize: Int, _ random: inout SeededGenerator) {
    let cutsRequest = Bool.random(using: &random)
    // Answers are of any size, which is not known yet: small places are as frequent as large ones.
    let magnitude = Int.random(in: 0...18, using: &random)
    let place = Int.random(in: 0..<1 << magnitude, using: &random)
    let requestPlace = Int.random(in: 0..<max(1, requestSize), using: &random)
    rest.state.withLock { state in
      if cutsRequest { state.request = requestPlace } else { state.answer = place }
    }
  }

  /// Transfers bytes, or throws if the connection is cut among them.
  func transfer(_ count: Int, of direction: Direction) throws {
    guard try arriving(count, direction) == nil else {
      throw SimulatedCut(description: "it was cut")
    }
  }

  /// Counts bytes; returns how many of them arrive before a cut, nil if all do.
  private func arriving(_ count: Int, _ direction: Direction) throws -> Int? {
    let own = rest.state.withLock { state -> Int? in
      let left = direction == .request ? state.request : state.answer
      guard let left else { return nil }
      if direction == .request { state.request = left - count } else { state.answer = left - count }
      guard left < count else { return nil }
      if direction == .request { state.isRequestCut = true }
      return max(0, left)
    }
    let planned = try network.transfer(own ?? count)
    if planned != nil, direction == .request { rest.state.withLock { $0.isRequestCut = true } }
    return planned ?? own
  }

  /// Throws if the request was cut: its answer does not arrive either.
  func checkRequest() throws {
    guard rest.state.withLock({ !$0.isRequestCut }) else {
      throw SimulatedCut(description: "the request was cut")
    }
  }

  /// Returns a body on this connection.
  func carrying(_ body: HTTPBody, _ direction: Direction) -> HTTPBody {
    HTTPBody(Pieces(base: body, line: self, direction: direction))
  }

  private struct Pieces: AsyncSequence, Sendable {
    let base: HTTPBody
    let line: SimulatedLine
    let direction: Direction

    struct AsyncIterator: AsyncIteratorProtocol {
      var base: HTTPBody.AsyncIterator
      let line: SimulatedLine
      let direction: Direction
      var random: SeededGenerator
      /// What has arrived and was not returned.
      var buffer = Data()
      var isCut = false

      mutating func next() async throws -> Data? {
        guard !isCut else { throw SimulatedCut(description: "it was cut") }
        if buffer.isEmpty {
          guard let piece = try await base.next() else { return nil }
          buffer = piece
        }
        var piece = buffer
        if let pause = line.dripPause {
          piece = Data(buffer.prefix(Int.random(in: 1...7, using: &random)))
          try await line.network.pass(pause)
        }
        buffer = buffer.dropFirst(piece.count)
        guard let count = try line.arriving(piece.count, direction) else { return piece }
        // What was sent before the cut arrives.
        isCut = true
        guard count > 0 else { throw SimulatedCut(description: "it was cut") }
        return Data(piece.prefix(count))
      }
    }

    func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(
        base: base.makeAsyncIterator(), line: line, direction: direction,
        random: SeededGenerator(seed: line.seed))
    }
  }
}

/// Pieces of an answer; a cut is noted, and is an error that a client knows.
struct NotedPieces: AsyncSequence, Sendable {
  let base: HTTPBody
  let note: @Sendable () -> Void

  struct AsyncIterator: AsyncIteratorProtocol {
    var base: HTTPBody.AsyncIterator
    let note: @Sendable () -> Void

    mutating func next() async throws -> Data? {
      do {
        return try await base.next()
      } catch let error as SimulatedCut {
        note()
        throw SimulatedNetwork.cutError(error.description)
      }
    }
  }

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(base: base.makeAsyncIterator(), note: note)
  }
}

// MARK: Sizes

extension HTTPRequest {
  /// The size of the method, the URL and the headers.
  var headSize: Int {
    method.utf8.count + url.absoluteString.utf8.count + 11 + headers.headSize
  }

  /// The size with the body.
  var transferredSize: Int {
    get throws {
      switch body {
      case .none: return headSize
      case .data(let data): return headSize + data.count
      case .file(let file):
        let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size]
        return headSize + ((size as? NSNumber)?.intValue ?? 0)
      }
    }
  }

  /// The body in pieces as large as packets.
  var pieces: HTTPBody {
    get throws {
      switch body {
      case .none: return HTTPBody()
      case .data(let data): return HTTPBody(PacketPieces(file: nil, data: data))
      case .file(let file):
        return HTTPBody(PacketPieces(file: try FileHandle(forReadingFrom: file), data: Data()))
      }
    }
  }
}

extension HTTPResponse {
  /// The size of the status and the headers.
  var headSize: Int { 19 + headers.headSize }
}

extension [String: String] {
  fileprivate var headSize: Int { reduce(2) { $0 + $1.key.utf8.count + $1.value.utf8.count + 4 } }
}

/// The bytes of a file, or else of data, in pieces.
private struct PacketPieces: AsyncSequence, Sendable {
  let file: FileHandle?
  let data: Data

  struct AsyncIterator: AsyncIteratorProtocol {
    let file: FileHandle?
    var data: Data

    mutating func next() async throws -> Data? {
      if data.isEmpty, let file { data = try file.read(upToCount: 1 << 16) ?? Data() }
      guard !data.isEmpty else { return nil }
      let piece = Data(data.prefix(1400))
      data = data.dropFirst(1400)
      return piece
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(file: file, data: data) }
}
