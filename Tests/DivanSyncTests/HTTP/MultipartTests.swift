import DivanSync
import DivanTesting
import Foundation
import Testing

/// Tests of reading multipart bodies.
struct MultipartTests {
  private func parts(_ body: Data, pieces size: Int) async throws -> [([String: String], Data)] {
    let reader = MultipartReader(HTTPBody(pieces: body.pieces(of: size)), boundary: "b")
    var parts: [([String: String], Data)] = []
    while let headers = try await reader.nextPart() {
      var content = Data()
      while let piece = try await reader.nextPiece() { content += piece }
      parts.append((headers, content))
    }
    return parts
  }

  private static let body =
    "--b\r\nContent-Type: application/json\r\n\r\n{}\r\n--b\r\n\r\n\r\n--b\r\nA: 1\r\nB:2\r\n\r\nx\r\n--"
    + "\r\n-b\r\n--b--"

  @Test func `parts are the same in pieces of any size`() async throws {
    let body = Data(Self.body.utf8)
    for size in 1...body.count {
      let parts = try await parts(body, pieces: size)
      #expect(parts.map(\.0) == [["content-type": "application/json"], [:], ["a": "1", "b": "2"]])
      #expect(parts.map(\.1) == ["{}", "", "x\r\n--\r\n-b"].map { Data($0.utf8) })
    }
  }

  @Test func `a body that ends early is an error`() async throws {
    let body = Data(Self.body.utf8)
    for count in 0..<body.count {
      await #expect(throws: ReplicationError.self, "\(count) bytes") {
        try await parts(body.prefix(count), pieces: 5)
      }
    }
  }

  @Test func `headers without an end are an error`() async throws {
    let body = Data("--b\r\n".utf8) + Data(repeating: 0x61, count: 1 << 20)
    await #expect(throws: ReplicationError.self) { try await parts(body, pieces: 4096) }
  }

  /// Regression test: whether long headers were accepted depended on the pieces of the body.
  @Test func `headers have the same limit in pieces of any size`() async throws {
    for (count, isAccepted) in [(16 << 10, true), ((16 << 10) + 1, false)] {
      // A line break, and the name of the header, count too.
      let header = "\r\na: " + String(repeating: "x", count: count - 5)
      let body = Data("--b\(header)\r\n\r\ncontent\r\n--b--".utf8)
      for size in [1, 100, 5000, body.count] {
        let parts = try? await parts(body, pieces: size)
        #expect((parts?.count == 1) == isAccepted, "\(count) in pieces of \(size)")
      }
    }
  }

  @Test func `spaces may follow a boundary, and a header may be empty`() async throws {
    let parts = try await parts(Data("--b \t\r\nA:\r\n\r\nx\r\n--b--".utf8), pieces: 3)
    #expect(parts.map(\.0) == [["a": ""]] && parts.map(\.1) == [Data("x".utf8)])
  }

  @Test(arguments: ["--bc\r\n\r\nx\r\n--b--", "--b\r\n: x\r\n\r\nx\r\n--b--"])
  func `a line that is not a boundary or a header is an error`(_ body: String) async throws {
    await #expect(throws: ReplicationError.self) { try await parts(Data(body.utf8), pieces: 4) }
  }

  /// Regression test: each part copied what was left of the piece that contains it.
  @Test func `many parts in one piece take time in proportion to it`() async throws {
    let count = 50_000
    let part = "--b\r\nA: 1\r\n\r\nx\r\n"
    let body = Data((String(repeating: part, count: count) + "--b--").utf8)
    var found = 0
    let time = try await ContinuousClock().measure {
      found = try await parts(body, pieces: body.count).count
    }
    #expect(found == count)
    // Copying would take 25 GB.
    #expect(time < .seconds(20))
  }

  @Test func `random content is returned as it is`() async throws {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<200 {
      // Bytes of the delimiter are frequent, so that there are many beginnings of one.
      let alphabet = Array("\r\n-bx".utf8)
      var content = Data()
      for _ in 0..<Int.random(in: 0..<300, using: &random) {
        content.append(alphabet[Int.random(in: 0..<5, using: &random)])
      }
      guard content.range(of: Data("\r\n--b".utf8)) == nil else { continue }
      let body = Data("--b\r\n\r\n".utf8) + content + Data("\r\n--b--".utf8)
      let size = Int.random(in: 1...50, using: &random)
      #expect(try await parts(body, pieces: size).map(\.1) == [content])
    }
  }
}
