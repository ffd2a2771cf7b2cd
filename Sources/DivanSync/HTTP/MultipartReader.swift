package import Foundation

/// Reads the parts of a multipart body (RFC 2046) as they arrive.
///
/// At most a piece of the body and a delimiter are in memory.
package final class MultipartReader {
  private var base: HTTPBody.AsyncIterator
  /// What was read and not returned.
  private var buffer: Data
  /// What ends a part: a line break, two hyphens and the boundary.
  private let delimiter: Data
  private var isEnded = false

  /// The size of the headers of a part at most.
  private static let headerSizeLimit = 16 << 10

  package init(_ body: HTTPBody, boundary: String) {
    base = body.makeAsyncIterator()
    delimiter = Data("\r\n--\(boundary)".utf8)
    // The first delimiter has no line break before it.
    buffer = Data("\r\n".utf8)
  }

  /// Returns the headers of the next part, with their names in lower case; nil after the last part.
  ///
  /// What was not read of the part before is skipped.
  package func nextPart() async throws -> [String: String]? {
    guard !isEnded else { return nil }
    while try await nextPiece() != nil {}
    buffer = Data(buffer.dropFirst(delimiter.count))
    while buffer.count < 2 { try await readMore() }
    if buffer.prefix(2) == Data("--".utf8) {
      isEnded = true
      return nil
    }
    var headerEnd = buffer.range(of: Data("\r\n\r\n".utf8))
    while headerEnd == nil {
      guard buffer.count <= Self.headerSizeLimit else { throw invalid("a part has long headers") }
      try await readMore()
      headerEnd = buffer.range(of: Data("\r\n\r\n".utf8))
    }
    guard let end = headerEnd else { return nil }
    let text = String(decoding: buffer[..<end.lowerBound], as: UTF8.self)
    buffer = Data(buffer[end.upperBound...])
    var headers: [String: String] = [:]
    for line in text.split(separator: "\r\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { throw invalid("a part has a header without a name") }
      headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    return headers
  }

  /// Returns the next piece of the content of the present part; nil at its end.
  package func nextPiece() async throws -> Data? {
    while true {
      if let range = buffer.range(of: delimiter) {
        guard range.lowerBound > buffer.startIndex else { return nil }
        let piece = Data(buffer[..<range.lowerBound])
        buffer = Data(buffer[range.lowerBound...])
        return piece
      }
      let safeCount = buffer.count - delimiter.count
      if safeCount > 0 {
        let piece = Data(buffer.prefix(safeCount))
        buffer = Data(buffer.dropFirst(safeCount))
        return piece
      }
      try await readMore()
    }
  }

  private func readMore() async throws {
    guard let piece = try await base.next() else { throw invalid("it ends before its last part") }
    buffer.append(piece)
  }

  private func invalid(_ reason: String) -> ReplicationError {
    ReplicationError(.invalidAnswer, "the multipart body is invalid: \(reason)")
  }
}
