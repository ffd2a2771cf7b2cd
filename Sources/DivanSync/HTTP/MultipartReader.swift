package import Foundation

/// Reads the parts of a multipart body (RFC 2046) as they arrive.
///
/// At most a piece of the body and a delimiter are in memory.
package final class MultipartReader {
  private var base: HTTPBody.AsyncIterator
  /// What was read; the bytes before `start` were returned.
  private var buffer: Data
  private var start = 0
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
    start += delimiter.count
    while buffer.count - start < 2 { try await readMore() }
    if buffer[start..<start + 2] == Data("--".utf8) {
      isEnded = true
      return nil
    }
    let end = try await endOfHeaders()
    let text = String(decoding: buffer[start..<end.lowerBound], as: UTF8.self)
    start = end.upperBound
    var headers: [String: String] = [:]
    for line in text.split(separator: "\r\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { throw invalid("a part has a header without a name") }
      headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    return headers
  }

  /// Finds the empty line after the headers of a part, which may have none.
  private func endOfHeaders() async throws -> Range<Int> {
    while true {
      let searched = start..<min(buffer.count, start + Self.headerSizeLimit)
      if let end = buffer.range(of: Data("\r\n\r\n".utf8), in: searched) { return end }
      guard searched.count < Self.headerSizeLimit else { throw invalid("a part has long headers") }
      try await readMore()
    }
  }

  /// Returns the next piece of the content of the present part; nil at its end.
  package func nextPiece() async throws -> Data? {
    while true {
      var end = buffer.count - delimiter.count
      if let range = buffer.range(of: delimiter, in: start..<buffer.count) {
        guard range.lowerBound > start else { return nil }
        end = range.lowerBound
      }
      if end > start {
        defer { start = end }
        return Data(buffer[start..<end])
      }
      try await readMore()
    }
  }

  private func readMore() async throws {
    guard let piece = try await base.next() else { throw invalid("it ends before its last part") }
    buffer = Data(buffer[start...]) + piece
    start = 0
  }

  private func invalid(_ reason: String) -> ReplicationError {
    ReplicationError(.invalidAnswer, "the multipart body is invalid: \(reason)")
  }
}
