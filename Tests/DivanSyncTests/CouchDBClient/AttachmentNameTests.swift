import Divan
import DivanSync
import Foundation
import Testing

/// Tests of attachments whose names are spellings of each other.
struct AttachmentNameTests {
  private static let names = ["a b", "a%20b", "a%2520b", "a+b"]

  private static func encoded(_ name: String) -> String {
    name.replacing("%", with: "%25").replacing(" ", with: "%20").replacing("+", with: "%2B")
  }

  /// Regression test: a part with the encoded name of one attachment was taken for another one.
  @Test(arguments: [false, true], [false, true])
  func `parts are told apart by their order, however their names are spelled`(
    _ isEncoded: Bool, _ isReversed: Bool
  ) async throws {
    let peer = try ServiceFixture()
    let names = isReversed ? Self.names.reversed() : Self.names
    let entries = names.map { name in
      #""\#(name)":{"content_type":"a/b","length":5,"follows":true}"#
    }
    let json = """
      {"_rev":"1-\(ServiceFixture.digest("a"))","_attachments":{\(entries.joined(separator: ","))}}
      """
    var body = "--B\r\n\r\n\(json)"
    for name in names {
      let spelling = isEncoded ? Self.encoded(name) : name
      let number = Self.names.firstIndex(of: name) ?? 0
      body += "\r\n--B\r\nContent-Disposition: attachment; filename=\"\(spelling)\"\r\n"
      body += "Content-Length: 5\r\n\r\nfive\(number)"
    }
    body += "\r\n--B--"
    let answer = try await peer.send(
      "PUT", "/d?new_edits=false", data: Data(body.utf8),
      ["Content-Type": "multipart/related; boundary=B"])
    #expect(answer.status == 201, "\(answer.text)")
    let document = try #require(try peer.database.snapshot().document("d"))
    for (number, name) in Self.names.enumerated() {
      #expect(try await document.attachments[name]?.data() == Data("five\(number)".utf8), "\(name)")
    }
  }

  @Test func `of two that a name can be, the length chooses`() async throws {
    let peer = try ServiceFixture()
    let json = """
      {"_rev":"1-\(ServiceFixture.digest("a"))","_attachments":{
      "a b":{"content_type":"a/b","length":3,"follows":true},
      "a%20b":{"content_type":"a/b","length":5,"follows":true}}}
      """
    // Not in the order of the JSON.
    let body =
      "--B\r\n\r\n\(json)\r\n--B\r\nContent-Disposition: attachment; filename=\"a%20b\"\r\n"
      + "Content-Length: 5\r\n\r\nfives\r\n--B\r\n"
      + "Content-Disposition: attachment; filename=\"a b\"\r\n\r\nabc\r\n--B--"
    let answer = try await peer.send(
      "PUT", "/d?new_edits=false", data: Data(body.utf8),
      ["Content-Type": "multipart/related; boundary=B"])
    #expect(answer.status == 201, "\(answer.text)")
    let document = try #require(try peer.database.snapshot().document("d"))
    #expect(try await document.attachments["a b"]?.data() == Data("abc".utf8))
    #expect(try await document.attachments["a%20b"]?.data() == Data("fives".utf8))
  }

  @Test(arguments: [Replicator.Direction.pull, .push])
  func `such attachments of one document are copied`(
    _ direction: Replicator.Direction
  ) async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try await (direction == .pull ? there : here).write { transaction in
      var document = Document(id: "d", [:])
      for (number, name) in Self.names.enumerated() {
        document.attachments[name] = Document.Attachment(
          contentType: "a/b", Array("five\(number)".utf8))
      }
      try transaction.put(document)
    }
    let peer = CouchDBPeer(
      url: try #require(URL(string: "http://server.invalid/notes")),
      transport: ServiceTransport(CouchDBService(["notes": there])))
    let status = try await Replicator(here, peer, direction: direction).replicate()
    #expect(status.failures.isEmpty)
    #expect(try Contents(of: here) == Contents(of: there))
    #expect(try here.snapshot().document("d")?.attachments.count == Self.names.count)
  }
}
