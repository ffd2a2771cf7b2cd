import DivanSync
import DivanTesting
import Foundation
import Testing

/// Tests of reading compressed content.
struct GzipTests {
  /// Lines of text, whose compressed forms follow, as zlib makes them.
  private static let text = Data(
    (0..<300).map { "line \($0 * $0 % 97) of the text\n" }.joined().utf8)
  private static let bytes = Data(
    (0..<700).map { (number: Int) -> UInt8 in
      let value = (number * number * 7 + number * 13) >> 3
      return UInt8(value % 251)
    })

  private static let cases: [(name: String, content: Data, gzip: String)] = [
    (
      "nothing", Data(),
      "H4sIAAAAAAAAAwMAAAAAAAAAAAA="
    ),
    (
      "codes of its own", text,
      "H4sIAAAAAAAAA+3VMXLEIAyF4T6n8BEC2IAP5Ex2ZidpXOzxd1LzFSpTqNUg9HhI+p+Pn2v73H6/tvv72u7rdX88"
        + "/0JlDe1r6ERiX2P1WGMN53bc11F2Ql1DWaTuY42NilxUQNWOc6deC3lDtuO+A7mn3NMH6R91H3IP6JuwAM+tcHki"
        + "90DZCgumGkNNAC0F5ybs67IUmhv0FfkCl+H8hOSB5w6da8FYsIa0SHOPOSCn5Kic1w+V4I+rM9RB6jR1pDpXHa5J"
        + "mLG50vxxTktw7ntsj2jfaC9pf2nP9eDerLEtrG2trd5ijBBLxJwWZJhYd4bACXEJ4YRwQjghnBBOCCeEE8IJ4YRw"
        + "QjghnBBOCCeE/ymE3ydfpuc/FwAA"
    ),
    (
      "fixed codes and a name", text,
      "H4sICAAAAAAAA3RleHQudHh0AMvJzEtVMFDIT1MoyUhVKEmtKOHKAQkZYgqZYApZYtFohilmZIopZoxFnQkW88yw"
        + "WGuBxXXGWKzFotXEHFPM3AiLXiw2YLHVDIs6S2y+xeI8c2zBjsU8Uyx6LbGFHrYIwhaP2MzDotcUi/sssAQBFu8a"
        + "YQllCyx6TbFYa4QlCCywJQxsiQCLWwyxqLPAEnxm2IIUi5uNsbjPEFu4YAllLCFvgcXJ5li8a45NnTGRYkTagc0t"
        + "2NxsRlwIYAspbCGKLeSxxZAhkTGOLWVgS0HYUhq2FIkt5WJL4dhyggVx+Qpb/sOaTw2JzPdmxJUj2MobbOUStvIL"
        + "WzlnRmS5aURcKYyttMZWqhsTV0dgq0uw1TnGRNZh2Oo6S6IqTiyOG62ERyvh0Up4tBIerYRHK+HRSni0Eh6thEcr"
        + "4dFKeLQSHq2ERyvh0Up4kFbCACdfpuc/FwAA"
    ),
    (
      "stored", bytes,
      "H4sIAAAAAAAAAwG8AkP9AAIGDBQeKTZFVWd7kanC3fodPV+DqdD5KVWDs+UeU4rDAj58vANGi9IfabUIWKkBVqwJ"
        + "Y78igeJKrhmB61zJPa4lmRSMC4YIhwyOF50qs0PQY/OKI7lV7o4vzXIZvWcTvGscyn826aNfHNaXWh/gqHI9CtSl"
        + "eEwi9c6phmVGKAzt1L2olYR0ZlpPRj86NzU1Nzo/Rk9aZnSElai91O0MKEZlhqnO9SJMeKXUCj1yqOAfWpfWHF+j"
        + "6TZ/yhxrvBNnvRlyzS+O7lW5I4rzY9BDsyqdF44MhwiGC4wUmSWuPclc64EZrkrigSK/YwmsVgGpWAi1aR/Si0YD"
        + "vHw+AsOKUx7ls4NVKfnQqYNfPR363cKpkXtnVUU2KR4UDAYCAPoAAwcNFR8rOEdYan6UrMbhAyJCZIiu1gQvXIq6"
        + "7CVbkssLR4XFDFCV3Cp0wBNjtQ1iuRZwzC+P8Fi9KJD6a9lNvjaqJZ0cmBqZH6EqsD3HV+R4DZ84zmsJpEbkiTDU"
        + "fyvUhDXjmE8IvXk38bJ1OgHEjlon8cKVakAY7cilhGVILBL13sm2pZaIfHJpYl1aWVlbX2RrdH+Mmqq8z+QAGTRQ"
        + "bo6v0vcjTHai0AQ1aJ3UEUuHxAhJjNEcZK75S5rrQ5ftSqMDYL8lh+tWvSuWCHfnXtJMw0G8PrxBw0vQXOV1BpQp"
        + "ulLngyG7XPqeROeRPeWURfKmXBTJhEEAu31BB8qTXiv0xJZqQBfrxqKAYEImC+3WwKyainxvZFtTTUlHR0hLUFZe"
        + "aHSCkaK1yd/3FjJPbo+x1QAoUn2q2Q5AdKriIFuY1htdoeczfMcYZrYNYbYSa8UmhORLrhh/51bCNaUbjgh+9nXx"
        + "dPN5AYUQmCezRdRqAZUwyGcHpEjojzjeiznklkn5sGkk25lZGtidZC3yvoxbLPrPpn5YNBHrzCVA8nm8AgAA"
    ),
    (
      "hello world of CouchDB", Data("hello world".utf8),
      "H4sIAAAAAAAAA8tIzcnJVyjPL8pJAQCFEUoNCwAAAA=="
    ),
  ]

  private func decoded(_ gzip: Data, pieces size: Int) async throws -> Data {
    var pieces = gzip.pieces(of: size).makeIterator()
    let reader = GzipReader { pieces.next() }
    var content = Data()
    while let piece = try await reader.nextPiece() { content += piece }
    return content
  }

  private func gzip(_ text: String) throws -> Data { try #require(Data(base64Encoded: text)) }

  @Test func `content is the same in pieces of any size`() async throws {
    for (name, content, text) in Self.cases {
      let gzip = try gzip(text)
      for size in [1, 2, 3, 7, 100, gzip.count] {
        #expect(try await decoded(gzip, pieces: size) == content, "\(name), pieces of \(size)")
      }
    }
  }

  @Test func `a body that ends early, or goes on, is an error`() async throws {
    for (name, _, text) in Self.cases {
      let gzip = try gzip(text)
      for count in 0..<gzip.count {
        await #expect(throws: ReplicationError.self, "\(name), \(count) bytes") {
          try await decoded(gzip.prefix(count), pieces: 50)
        }
      }
      await #expect(throws: ReplicationError.self) {
        try await decoded(gzip + Data([0]), pieces: 50)
      }
    }
  }

  @Test func `damage is an error, or changes nothing`() async throws {
    var random = SeededGenerator(seed: 5)
    var errorCount = 0
    for (_, content, text) in Self.cases {
      let gzip = try gzip(text)
      for _ in 0..<300 {
        var damaged = gzip
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          damaged[Int.random(in: 0..<gzip.count, using: &random)] ^=
            1
            << UInt8.random(
              in: 0..<8, using: &random)
        }
        do {
          // The time and the system in the header do not count.
          #expect(try await decoded(damaged, pieces: 64) == content)
        } catch is ReplicationError {
          errorCount += 1
        }
      }
    }
    #expect(errorCount > 1000)
  }

  @Test func `random bytes are an error`() async throws {
    var random = SeededGenerator(seed: 6)
    let header = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3])
    for _ in 0..<2000 {
      let bytes = (0..<Int.random(in: 0..<200, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      await #expect(throws: ReplicationError.self) {
        try await decoded(header + Data(bytes), pieces: 30)
      }
    }
  }

  @Test func `content that is much larger comes in pieces`() async throws {
    // A literal zero and repetitions of it, as a block with fixed codes.
    let bomb = HostileAnswerTests.bomb(30 << 20)
    var pieces = bomb.pieces(of: 1 << 16).makeIterator()
    let reader = GzipReader { pieces.next() }
    var size = 0
    await #expect(throws: ReplicationError.self) {
      // It has no valid checksum.
      while let piece = try await reader.nextPiece() {
        #expect(piece.count <= 1 << 17)
        size += piece.count
      }
    }
    #expect(size > 29 << 20)
  }
}
