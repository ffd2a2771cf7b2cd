package import Foundation

/// Reads the parts of a multipart body (RFC 2046) as they arrive.
///
/// At most a piece of the body, the headers of a part and a delimiter are in memory. What is
/// returned depends on the bytes of the body, and not on the pieces in which they arrive.
package final class MultipartReader {
  private var base: HTTPBody.AsyncIterator
  /// What was read; the bytes before `start` were returned or skipped.
  private var buffer: [UInt8]
  private var start = 0
  /// No delimiter begins before this offset of the buffer.
  private var searched = 0
  /// What ends a part: a line break, two hyphens and the boundary.
  private let delimiter: [UInt8]
  private var isEnded = false

  /// The size of the headers of a part at most.
  private static let headerSizeLimit = 16 << 10
  private static let headerEnd = Array("\r\n\r\n".utf8)

  package init(_ body: HTTPBody, boundary: String) {
    base = body.makeAsyncIterator()
    delimiter = Array("\r\n--\(boundary)".utf8)
    // The first delimiter has no line break before it.
    buffer = Array("\r\n".utf8)
  }

  /// Returns the headers of the next part, with their names in lower case; nil after the last part.
  ///
  /// What was not read of the part before is skipped.
  package func nextPart() async throws -> [String: String]? {
    guard !isEnded else { return nil }
    while try await nextPiece() != nil {}
    start += delimiter.count
    try await read(atLeast: 2)
    if buffer[start] == UInt8(ascii: "-"), buffer[start + 1] == UInt8(ascii: "-") {
      isEnded = true
      return nil
    }
    try await skipPadding()
    let end = try await offsetOfHeaderEnd()
    let text = String(decoding: buffer[start..<end], as: UTF8.self)
    start = end + Self.headerEnd.count
    searched = start
    return try headers(in: text)
  }

  /// Returns the next piece of the content of the present part; nil at its end.
  package func nextPiece() async throws -> Data? {
    while true {
      if let offset = find(delimiter, from: searched) {
        searched = offset
        guard offset > start else { return nil }
        return take(through: offset)
      }
      // A delimiter may have begun in the bytes after it.
      searched = max(start, buffer.count - delimiter.count + 1)
      if searched > start { return take(through: searched) }
      try await readMore()
    }
  }

  private func take(through end: Int) -> Data {
    defer { start = end }
    return Data(buffer[start..<end])
  }
}

// MARK: Headers

extension MultipartReader {
  /// Skips spaces and tabs between a delimiter and the end of its line.
  private func skipPadding() async throws {
    for _ in 0..<Self.headerSizeLimit {
      try await read(atLeast: 2)
      switch (buffer[start], buffer[start + 1]) {
      case (UInt8(ascii: " "), _), (UInt8(ascii: "\t"), _): start += 1
      case (UInt8(ascii: "\r"), UInt8(ascii: "\n")): return
      default: throw invalid("something follows a boundary in its line")
      }
    }
    throw invalid("a boundary is followed by many spaces")
  }

  /// Reads the headers of a part, and returns the offset of the line break after the last one.
  private func offsetOfHeaderEnd() async throws -> Int {
    var from = start
    while true {
      if let end = find(Self.headerEnd, from: from), end - start <= Self.headerSizeLimit {
        return end
      }
      from = max(start, buffer.count - Self.headerEnd.count + 1)
      guard from - start <= Self.headerSizeLimit else { throw invalid("a part has long headers") }
      let before = start
      try await readMore()
      from -= before - start
    }
  }

  private func headers(in text: String) throws -> [String: String] {
    var headers: [String: String] = [:]
    for line in text.split(separator: "\r\n") {
      guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
        throw invalid("a part has a header without a name")
      }
      let value = line[line.utf8.index(after: colon)...]
      headers[line[..<colon].lowercased()] = value.trimmingCharacters(in: .whitespaces)
    }
    return headers
  }
}

// MARK: Bytes

extension MultipartReader {
  /// Returns the offset of the first occurrence of a pattern that begins at or after an offset.
  private func find(_ pattern: [UInt8], from: Int) -> Int? {
    Self.offset(of: pattern, in: buffer, from: from)
  }

  private static func offset(of pattern: [UInt8], in buffer: [UInt8], from: Int) -> Int? {
    let bytes = buffer.span
    var offset = from
    while offset + pattern.count <= bytes.count {
      if bytes[offset] == pattern[0] {
        var length = 1
        while length < pattern.count, bytes[offset + length] == pattern[length] { length += 1 }
        if length == pattern.count { return offset }
      }
      offset += 1
    }
    return nil
  }

  private func read(atLeast count: Int) async throws {
    while buffer.count - start < count { try await readMore() }
  }

  private func readMore() async throws {
    guard let piece = try await base.next() else { throw invalid("it ends before its last part") }
    buffer.removeFirst(start)
    searched = max(0, searched - start)
    start = 0
    buffer.append(contentsOf: piece)
  }

  private func invalid(_ reason: String) -> ReplicationError {
    ReplicationError(.invalidAnswer, "the multipart body is invalid: \(reason)")
  }
}
