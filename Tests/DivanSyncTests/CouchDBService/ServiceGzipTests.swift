import Divan
@testable import DivanSync
import Foundation
import Testing

/// Tests of decompressing the attachments that CouchDB sends.
struct ServiceGzipTests {
  /// Texts, and what zlib makes of them with several of its settings.
  private static let cases: [(compressed: String, text: String)] = [
    (
      "H4sIAAAAAAACAwMAAAAAAAAAAAA=",
      ""
    ),
    (
      "H4sIAAAAAAAEAwELAPT/aGVsbG8gd29ybGSFEUoNCwAAAA==",
      "hello world"
    ),
    (
      "H4sIAAAAAAACA8tIzcnJVyjPL8pJAQCFEUoNCwAAAA==",
      "hello world"
    ),
    (
      "H4sIAAAAAAACAwtJTVRIzEtRSM5PS0tN1VMIoZAPABXgVUZQAAAA",
      String(repeating: "Tea and coffee. ", count: 5)
    ),
    (
      "H4sIAAAAAAACA1VTW3KDMAy8CkdADzA+RA9BEmem086QSdIb9Sa9WC2tDOYHsCxptbvi8izrjebh"
        + "o7yf22P7/nwxD3+/qvZIXVhkeJeVc43T1MeH63a/l5KG6/pVZMT9a/t5iFqFzJEwdkUknkEp7jTj"
        + "bNUaMcnDxYbjJQKLtRuPCnx4TX0YOrfbCn2AaYsS9SMwILPTkoYfmbNHCZwWDDLipdKLRZZYm1gi"
        + "gUXVzk8EFU68ke7dFYrx5CpNlQXPiGjDs3o+l/tNnd0aNGEY8MJ4ib9C0jmGTtZfTCqXkZMPIq0Q"
        + "Sjcvg7jGIBNO0kgiqV+C3MutbRPCKWc7oVU1BqTiLgWy7VyVxeWDbu5Ltc7EwTgkR0evWnojHIVC"
        + "s5Yph6qQQzK2Bai7X12fcd9MkNhnYfslpG2nBhLtakQZaJqd4Yf/SfkkqO7+md3yDzk8gBqEAwAA",
      "bread16 Metropolis22 ä44 ä47 Metropolis33 tea29 ä15 Metropolis3 coffee7 cake"
        + "30 ä15 soup34 tea36 coffee0 Metropolis13 soup17 coffee49 soup10 ä4 coffee39 "
        + "bread28 coffee8 tea0 coffee49 coffee10 ä10 cake20 coffee34 Metropolis40 coff"
        + "ee11 Metropolis12 soup19 tea23 soup10 coffee16 tea21 cake38 bread0 bread43 M"
        + "etropolis21 tea19 cake19 soup44 cake11 soup30 Metropolis11 tea16 tea47 cake2"
        + "5 tea35 ä26 cake24 bread0 soup2 Metropolis11 bread12 tea48 coffee29 cake32 c"
        + "ake33 cake49 soup6 bread47 ä23 ä18 tea27 tea13 cake32 bread23 coffee21 cake4"
        + "4 bread5 cake43 cake19 coffee5 Metropolis9 Metropolis44 cake30 coffee46 tea5"
        + " bread34 soup2 coffee47 bread22 ä16 soup41 soup9 tea40 tea31 cake13 coffee46"
        + " bread8 Metropolis26 tea10 soup23 coffee3 ä26 cake9 soup39 ä10 bread29 soup4"
        + "4 Metropolis20 soup17 cake30 soup9 tea24 ä34 coffee40 soup21 coffee5 soup17 "
        + "bread35 ä32 cake4 ä49 cake44 bread42 tea48 cake23"
    ),
  ]

  private func content(_ data: Data) throws -> Data {
    var reader = GzipReader(data)
    var content = Data()
    while let piece = try reader.next() { content.append(piece) }
    return content
  }

  @Test func `what zlib compressed is as before`() throws {
    for (compressed, text) in Self.cases {
      let data = try #require(Data(base64Encoded: compressed))
      #expect(String(decoding: try content(data), as: UTF8.self) == text)
    }
  }

  @Test func `content is the same in pieces of any size`() throws {
    var cases = Self.cases
    cases.append((Self.bomb, String(repeating: "\0", count: 1 << 20)))
    for (compressed, text) in cases {
      let data = try #require(Data(base64Encoded: compressed))
      for size in [1, 2, 3, 7, 64, 500, 1000, 5000] {
        var (reader, content) = (GzipReader(), Data())
        for piece in data.pieces(of: size) {
          reader.add(piece)
          while let piece = try reader.next() {
            content.append(piece)
            #expect(piece.count <= (64 << 10) + 258)
          }
        }
        reader.end()
        while let piece = try reader.next() { content.append(piece) }
        #expect(content == Data(text.utf8), "pieces of \(size)")
      }
    }
  }

  /// Regression test: compressed content was in memory as a whole, so it could not be larger than a
  /// document.
  @Test func `compressed content may be larger than what is kept in memory`() async throws {
    var configuration = CouchDBService.Configuration()
    configuration.limits.bodySize = 400
    let peer = try ServiceFixture("peer", configuration)
    let bomb = try #require(Data(base64Encoded: Self.bomb))
    #expect(bomb.count > 1000)
    let json = """
      {"_rev": "1-\(ServiceFixture.digest("a"))", "_attachments": {"a": {"content_type": "a/b", \
      "length": 1048576, "follows": true, "encoding": "gzip", "digest": "md5-x"}}}
      """
    var body = Data("--B\r\n\r\n\(json)\r\n--B\r\nContent-Encoding: gzip\r\n\r\n".utf8)
    body += bomb + Data("\r\n--B--".utf8)
    let answer = try await peer.send(
      "PUT", "/d?new_edits=false", data: body,
      ["Content-Type": "multipart/related; boundary=B"])
    #expect(answer.status == 201, "\(answer.text)")
    #expect(try await peer.send("GET", "/d/a").data == Data(count: 1 << 20))
  }

  /// Regression test: such a document was refused, because the compressed content has another
  /// length.
  @Test func `a part without headers is encoded as its document says`() async throws {
    let (compressed, text) = Self.cases[3]
    let content = try #require(Data(base64Encoded: compressed))
    #expect(content.count != text.utf8.count)
    let peer = try ServiceFixture()
    let json = """
      {"_rev": "1-\(ServiceFixture.digest("a"))", "_attachments": {"a": {"follows": true, \
      "content_type": "text/plain", "length": \(text.utf8.count), "encoding": "gzip", \
      "encoded_length": \(content.count), "digest": "md5-x"}}}
      """
    let body = Data("--B\r\n\r\n\(json)\r\n--B\r\n\r\n".utf8) + content + Data("\r\n--B--".utf8)
    let answer = try await peer.send(
      "PUT", "/d?new_edits=false", data: body,
      ["Content-Type": "multipart/related; boundary=B"])
    #expect(answer.status == 201, "\(answer.text)")
    #expect(try await peer.send("GET", "/d/a").text == text)
  }

  @Test func `content that is cut or changed is an error`() throws {
    for (compressed, text) in Self.cases {
      let data = try #require(Data(base64Encoded: compressed))
      for count in 0..<data.count {
        #expect(throws: GzipReader.Invalid.self) { try content(data.prefix(count)) }
      }
      // The header has bytes that do not matter: a time and a system.
      for index in 10..<data.count {
        for bit in 0..<8 {
          var changed = data
          changed[index] ^= 1 << bit
          // The last bits of the last block are not used.
          guard let result = try? content(changed) else { continue }
          #expect(String(decoding: result, as: UTF8.self) == text, "bit \(bit) of byte \(index)")
        }
      }
    }
  }

  @Test func `a gzip bomb is cut at the announced length`() async throws {
    // 1 MiB of zeros in 1 KiB.
    let bomb = try #require(Data(base64Encoded: Self.bomb))
    #expect(try content(bomb) == Data(count: 1 << 20))
    let peer = try ServiceFixture()
    let rev = "1-" + ServiceFixture.digest("a")
    for length in [1 << 20, 1000] {
      let json = """
        {"_rev": "\(rev)", "_attachments": {"a": {"content_type": "text/plain", \
        "length": \(length), "follows": true, "encoding": "gzip", "digest": "md5-x"}}}
        """
      var body = Data("--B\r\n\r\n\(json)\r\n--B\r\nContent-Encoding: gzip\r\n\r\n".utf8)
      body += bomb + Data("\r\n--B--".utf8)
      let answer = try await peer.send(
        "PUT", "/d\(length)?new_edits=false", data: body,
        ["Content-Type": "multipart/related; boundary=B"])
      #expect(answer.status == (length == 1000 ? 400 : 201), "\(answer.text)")
    }
    #expect(try await peer.send("GET", "/d1048576/a").data == Data(count: 1 << 20))
    let entry = try await peer.send("GET", "/d1048576").json["_attachments"]?["a"]
    #expect(entry?["digest"] == "md5-x" && entry?["encoding"] == "gzip")
    let inline = try await peer.send("GET", "/d1048576?attachments=true").json["_attachments"]?["a"]
    #expect(inline?["encoding"] == nil && inline?["digest"] == nil)
  }

  private static let bomb =
    "H4sIAAAAAAACA+3BMQEAAADCoPVPbQhfoAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAPgMc6jinAAAQAA=="
}
