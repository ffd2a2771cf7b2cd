import DivanSync
import Foundation
import Hummingbird
import HummingbirdCore
import NIOCore
import Synchronization

/// The body of a request, which must not arrive too slowly.
///
/// A server closes connections on which nothing arrives. One byte now and then would keep a request
/// open for days, so a body must have at least a kibibyte a second after a while.
struct PacedBody: AsyncSequence, Sendable {
  let base: RequestBody
  /// How long the body may be slow.
  let grace: Duration
  private let end = Flag()
  private let slowness = Flag()

  init(base: RequestBody, grace: Duration) {
    self.base = base
    self.grace = grace
  }

  static let bytesPerSecond = 1024.0

  /// Whether the whole body was read.
  var isRead: Bool { end.isSet }
  /// Whether the body came too slowly.
  var isTooSlow: Bool { slowness.isSet }

  /// Whether so much of the body may be left that it is not worth reading.
  func mayBeLong(_ request: Request) -> Bool {
    if let length = request.headers[.contentLength].flatMap({ Int($0) }) { return length > 1 << 16 }
    return request.headers[.transferEncoding] != nil
  }

  struct TooSlow: Error {}

  struct AsyncIterator: AsyncIteratorProtocol {
    var base: RequestBody.AsyncIterator
    let grace: Duration
    let end: Flag
    let slowness: Flag
    let start = ContinuousClock.now
    var size = 0

    mutating func next() async throws -> Data? {
      guard let buffer = try await base.next() else {
        end.set()
        return nil
      }
      size += buffer.readableBytes
      let time = ContinuousClock.now - start
      let seconds: Double = (time - grace) / .seconds(1)
      guard Double(size) >= PacedBody.bytesPerSecond * seconds else {
        slowness.set()
        throw TooSlow()
      }
      return Data(buffer.readableBytesView)
    }
  }

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(base: base.makeAsyncIterator(), grace: grace, end: end, slowness: slowness)
  }

  /// Something that happened.
  final class Flag: Sendable {
    private let value = Mutex(false)

    var isSet: Bool { value.withLock { $0 } }

    func set() { value.withLock { $0 = true } }
  }
}
