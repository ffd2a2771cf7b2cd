import DivanSync
import Foundation

/// Reads multipart bodies.
///
/// The first byte of an input selects the boundary, the second one the pieces, and the rest is the
/// body.
enum FuzzMultipart {
  private static let boundaries = ["b", "-", "--", "b\r\n--b", "", "0123456789abcdef-boundary"]
  private static let headerSizeLimit = 16 << 10

  struct Part: Equatable, Sendable {
    var headers: [String: String]
    var content: [UInt8]
  }

  /// Checks that the parts are those of a split of the whole body, whatever the pieces are, and
  /// that they are the same when they are written and read again.
  static func read(_ input: [UInt8]) throws {
    guard input.count >= 2 else { return }
    let boundary = boundaries[Int(input[0]) % boundaries.count]
    let body = Array(input.dropFirst(2))
    let expected = split(body, boundary)
    for seed in [0, UInt64(input[1]) + 1, UInt64(input[1]) + 1000] {
      try expect(
        try read(body, boundary, seed: seed) == expected,
        "the parts differ with pieces of seed \(seed)")
    }
    guard let expected, let written = write(expected, boundary) else { return }
    try expect(
      try read(written, boundary, seed: UInt64(input[1])) == expected,
      "the parts differ when they are written and read again")
  }

  /// Returns the parts as they are read; nil if the body is invalid.
  private static func read(_ body: [UInt8], _ boundary: String, seed: UInt64) throws -> [Part]? {
    try OneThread.run {
      let reader = MultipartReader(FuzzedBody(bytes: body, seed: seed).body, boundary: boundary)
      var parts: [Part] = []
      do {
        while let headers = try await reader.nextPart() {
          var part = Part(headers: headers, content: [])
          while let piece = try await reader.nextPiece() {
            try expect(!piece.isEmpty, "a piece is empty")
            part.content += piece
          }
          parts.append(part)
        }
      } catch let error as ReplicationError {
        try expect(error.code == .invalidAnswer, "\(error)")
        return nil
      }
      return parts
    }
  }

  /// Returns the parts of a whole body; nil if it is invalid.
  private static func split(_ body: [UInt8], _ boundary: String) -> [Part]? {
    let bytes = Array("\r\n".utf8) + body
    let delimiter = Array("\r\n--\(boundary)".utf8)
    guard var delimiterStart = offset(of: delimiter, in: bytes, from: 0) else { return nil }
    var parts: [Part] = []
    while true {
      var start = delimiterStart + delimiter.count
      if bytes[start...].starts(with: Array("--".utf8)) { return parts }
      let padding = bytes[start...].prefix { $0 == 0x20 || $0 == 0x09 }.count
      start += padding
      guard padding < headerSizeLimit, bytes[start...].starts(with: Array("\r\n".utf8)),
        let headerEnd = offset(of: Array("\r\n\r\n".utf8), in: bytes, from: start),
        headerEnd - start <= headerSizeLimit, let headers = headers(bytes[start..<headerEnd]),
        let next = offset(of: delimiter, in: bytes, from: headerEnd + 4)
      else { return nil }
      parts.append(Part(headers: headers, content: Array(bytes[(headerEnd + 4)..<next])))
      delimiterStart = next
    }
  }

  private static func headers(_ bytes: ArraySlice<UInt8>) -> [String: String]? {
    var headers: [String: String] = [:]
    var rest = Array(bytes)
    while !rest.isEmpty {
      let end = offset(of: Array("\r\n".utf8), in: rest, from: 0) ?? rest.count
      let line = rest[..<end]
      rest = Array(rest.dropFirst(end + 2))
      guard !line.isEmpty else { continue }
      guard let colon = line.firstIndex(of: 0x3A), colon > 0 else { return nil }
      let name = String(decoding: line[..<colon], as: UTF8.self)
      let value = String(decoding: line[(colon + 1)...], as: UTF8.self)
      headers[name.lowercased()] = value.trimmingCharacters(in: .whitespaces)
    }
    return headers
  }

  private static func offset(of pattern: [UInt8], in bytes: [UInt8], from: Int) -> Int? {
    guard from + pattern.count <= bytes.count else { return nil }
    return (from...(bytes.count - pattern.count)).first { bytes[$0...].starts(with: pattern) }
  }

  /// Returns a body with the parts; nil if their headers are longer than may be read.
  private static func write(_ parts: [Part], _ boundary: String) -> [UInt8]? {
    var body: [UInt8] = []
    for part in parts {
      let headers = part.headers.map { "\r\n\($0.key): \($0.value)" }.joined()
      guard headers.utf8.count <= headerSizeLimit else { return nil }
      body += Array("--\(boundary)\(headers)\r\n\r\n".utf8) + part.content + Array("\r\n".utf8)
    }
    return body + Array("--\(boundary)--".utf8)
  }

  static let seeds: [(name: String, bytes: [UInt8])] = {
    let document =
      "--b\r\nContent-Type: application/json\r\n\r\n{\"_id\":\"a\"}\r\n--b\r\n"
      + "Content-Disposition: attachment; filename=\"x\"\r\n\r\nbytes\r\n--b--"
    let texts: [(String, String)] = [
      ("document", document),
      ("no headers", "--b\r\n\r\n\r\n--b\r\n\r\nx\r\n--\r\n-b\r\n--b--\r\nepilogue"),
      ("preamble", "preamble\r\n--b \t\r\nA: 1\r\nB:\r\n\r\n\r\n\r\n--b--"),
    ]
    return texts.map { ($0.0, [0, 7] + Array($0.1.utf8)) }
  }()
}
