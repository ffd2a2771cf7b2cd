import DivanSync
import DivanTesting
import Foundation

/// The body of a message in pieces whose sizes follow from a seed; 0 for one piece.
struct FuzzedBody: AsyncSequence, Sendable {
  let bytes: [UInt8]
  let seed: UInt64

  struct AsyncIterator: AsyncIteratorProtocol {
    var rest: ArraySlice<UInt8>
    let seed: UInt64
    var random: SeededGenerator

    mutating func next() async throws -> Data? {
      guard !rest.isEmpty else { return nil }
      // Small pieces are the ones that divide a delimiter, and large ones hold several parts.
      let limits = [1, 2, 3, 7, 40, 1000]
      let limit = limits[Int.random(in: 0..<limits.count, using: &random)]
      let count = seed == 0 ? rest.count : Int.random(in: 0...limit, using: &random)
      let piece = Data(rest.prefix(count))
      rest = rest.dropFirst(count)
      return piece
    }
  }

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(rest: bytes[...], seed: seed, random: SeededGenerator(seed: seed))
  }

  var body: HTTPBody { HTTPBody(self) }
}
