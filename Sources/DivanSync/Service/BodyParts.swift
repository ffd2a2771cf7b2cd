import Divan
import Foundation

/// A part of a body that is made while it is read.
enum BodyPart: Sendable {
  case text(String)
  /// The content of an attachment, or a range of it, which is not in memory.
  case attachment(Document.Attachment, Range<Int>?)
}

extension HTTPBody {
  /// Creates a body whose parts are made when they are needed.
  ///
  /// - Parameter makeNext: Returns a function that returns the next parts, and nil at the end.
  init(parts makeNext: @escaping @Sendable () -> () async throws -> [BodyPart]?) {
    self.init {
      let next = makeNext()
      var queue: ArraySlice<BodyPart> = []
      var pieces: Document.Attachment.AsyncPieces.Iterator?
      return {
        while true {
          if let piece = try await pieces?.next() { return piece }
          pieces = nil
          switch queue.popFirst() {
          case .text(let text)?:
            if !text.isEmpty { return Data(text.utf8) }
          case .attachment(let attachment, let range)?:
            pieces = attachment.asyncPieces(range).makeAsyncIterator()
          case nil:
            guard let more = try await next() else { return nil }
            queue = more[...]
          }
        }
      }
    }
  }

  /// Creates a body from parts that are known.
  init(_ parts: [BodyPart]) {
    self.init(parts: {
      var rest: [BodyPart]? = parts
      return {
        defer { rest = nil }
        return rest
      }
    })
  }

  /// Returns the same body, which keeps objects until it is released, and reports its error.
  func keeping(_ objects: [any AnyObject & Sendable], _ report: ServiceReport) -> HTTPBody {
    HTTPBody(KeepingPieces(base: self, objects: objects, report: report))
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
