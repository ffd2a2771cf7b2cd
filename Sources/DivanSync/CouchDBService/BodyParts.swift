import Divan
import Foundation

/// A part of a body that is made while it is read.
enum BodyPart: Sendable {
  case text(String)
  /// The content of an attachment, or a range of it, which is not in memory.
  case attachment(Document.Attachment, Range<Int>?)
  /// The content of an attachment in Base64, which is not in memory.
  case base64(Document.Attachment)

  /// About how many bytes of memory the part takes: a text once, and once more while it is sent.
  fileprivate var memory: Int {
    if case .text(let text) = self { 2 * text.utf8.count } else { 0 }
  }
}

extension HTTPBody {
  /// Creates a body whose parts are made when they are needed.
  ///
  /// - Parameters:
  ///   - memory: Counts the parts until the next ones are made.
  ///   - first: Parts that are made already, and counted.
  ///   - makeNext: Returns a function that returns the next parts, and nil at the end.
  init(
    _ memory: MemoryReservation, first: [BodyPart] = [],
    parts makeNext: @escaping @Sendable () -> () async throws -> [BodyPart]?
  ) {
    self.init {
      let next = makeNext()
      var queue = first[...]
      var pieces: AttachmentBytes?
      return {
        while true {
          if let piece = try await pieces?.next() { return piece }
          pieces = nil
          switch queue.popFirst() {
          case .text(let text)?:
            if !text.isEmpty { return Data(text.utf8) }
          case .attachment(let attachment, let range)?: pieces = AttachmentBytes(attachment, range)
          case .base64(let attachment)?: pieces = AttachmentBytes(base64: attachment)
          case nil:
            queue = []
            try memory.hold(0)
            try Task.checkCancellation()
            guard let more = try await next() else { return nil }
            try memory.hold(more.reduce(0) { $0 + $1.memory })
            queue = more[...]
          }
        }
      }
    }
  }

  /// Creates a body from parts that are known.
  ///
  /// - Throws: ``ServiceError`` if there is too little memory for them.
  init(_ parts: [BodyPart], _ memory: MemoryReservation) throws {
    try memory.hold(parts.reduce(0) { $0 + $1.memory })
    self.init(memory, first: parts) { { nil } }
  }

  /// Returns the same body, which keeps objects until it is released, and reports its error.
  func keeping(_ objects: [any AnyObject & Sendable], _ report: ServiceReport) -> HTTPBody {
    HTTPBody(KeepingPieces(base: self, objects: objects, report: report))
  }
}

/// The content of an attachment as bytes that are sent.
private struct AttachmentBytes {
  private var base: Document.Attachment.AsyncPieces.Iterator
  private let isEncoded: Bool
  /// Bytes that are encoded with the next ones: Base64 has four characters for three bytes.
  private var rest = Data()

  init(_ attachment: Document.Attachment, _ range: Range<Int>?) {
    base = attachment.asyncPieces(range).makeAsyncIterator()
    isEncoded = false
  }

  init(base64 attachment: Document.Attachment) {
    base = attachment.asyncPieces().makeAsyncIterator()
    isEncoded = true
  }

  mutating func next() async throws -> Data? {
    guard isEncoded else { return try await base.next() }
    while let piece = try await base.next() {
      rest.append(piece)
      let count = rest.count / 3 * 3
      guard count > 0 else { continue }
      let encoded = rest.prefix(count).base64EncodedData()
      rest = Data(rest.suffix(rest.count - count))
      return encoded
    }
    defer { rest = Data() }
    return rest.isEmpty ? nil : rest.base64EncodedData()
  }
}

/// The pieces of a body, with objects that live as long.
private final class KeepingPieces: AsyncSequence, Sendable {
  private let base: HTTPBody
  private let objects: [any AnyObject & Sendable]
  private let report: ServiceReport

  init(base: HTTPBody, objects: [any AnyObject & Sendable], report: ServiceReport) {
    self.base = base
    self.objects = objects
    self.report = report
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    var base: HTTPBody.AsyncIterator
    let owner: KeepingPieces

    mutating func next() async throws -> Data? {
      do {
        return try await base.next()
      } catch {
        owner.report.send(error)
        throw error
      }
    }
  }

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(base: base.makeAsyncIterator(), owner: self)
  }
}
