import Divan
import DivanSync
import DivanTesting
import Foundation
import Testing

/// Tests of the digests with which other engines name the content of attachments.
struct ContentCheckTests {
  /// The digests of bytes 0, 31, 62, … modulo 256, as Python's `hashlib` computes them.
  private static let digests: [(length: Int, md5: String, sha1: String)] = [
    (0, "1B2M2Y8AsgTpgAmY7PhCfg==", "2jmj7l5rSw0yVb/vlWAYkK/YBwk="),
    (1, "k7iFrf4NoInN9jSQT9WfcQ==", "W6k8nbDP+T9StSHXQg5D9u2ieE8="),
    (55, "/kwFDHo9iwyT1bqubKd/oQ==", "wU/IXn3qjRm5qjAmoa43AcPsiyg="),
    (56, "bPBsBlmjNHKjAFpJfFOzqw==", "sP+2NRJX6/oBiXtS6ZXJzFQRh2o="),
    (57, "gogedmWPDP8+JnKOxzgbsQ==", "Ze64SbJVOwsJu3FH70rVFGFSY2o="),
    (63, "tF13RpOf0fTOPUF7GO0mNQ==", "BnnbG7zROWLG8MjdhWBKGwkoN94="),
    (64, "o2c4WCSX14Xmwn8JybihXQ==", "rHGX11lq2tHwsDcgIDssEHfj0sc="),
    (65, "rIENnSOjQloVrbU0dp+SCw==", "VfSN0IWa6QUZd2Z28wE45GbJMWs="),
    (119, "BSkErWzz4jfLoLlF8IwKiA==", "hDNDKTvXbINFKpAMkHHyKDGCPXA="),
    (120, "zY/15/3esrA3eyisHatPJg==", "8kpySXHGn7Ym0IvAzWJ82qeopwA="),
    (127, "zv9OrTXkIhsWOK9OL4xh+Q==", "Rb30uev1deYqAzvZJO2YkOIB6oU="),
    (128, "cQ6NhiMezpqvN7pdE50pOQ==", "Bm/9Y6ik67GyGep8aVRr0y+dxH8="),
    (1000, "vzj9RN+zgt8aUO4UrYPEbA==", "bY4vM9vUMot5TWa+TRq77BxvD7s="),
  ]

  @Test func `content has its digest in pieces of any size`() throws {
    for (length, md5, sha1) in Self.digests {
      let content = Data((0..<length).map { UInt8($0 * 31 % 256) })
      for text in ["md5-" + md5, "sha1-" + sha1] {
        for size in [1, 3, 63, 64, 65, 2000] {
          var check = try #require(ContentCheck(.init(text)))
          for piece in content.pieces(of: size) { check.add(piece) }
          #expect(check.isPassed, "\(text) of \(length) bytes")
          check.add(Data([0]))
          #expect(!check.isPassed, "\(text) of \(length) bytes and one more")
        }
      }
    }
  }

  @Test func `each bit of the content counts`() throws {
    var random = SeededGenerator(seed: 3)
    for _ in 0..<100 {
      let (length, md5, sha1) = Self.digests[Int.random(in: 1..<13, using: &random)]
      var content = Data((0..<length).map { UInt8($0 * 31 % 256) })
      content[Int.random(in: 0..<length, using: &random)] ^=
        1
        << UInt8.random(
          in: 0..<8, using: &random)
      for text in ["md5-" + md5, "sha1-" + sha1] {
        var check = try #require(ContentCheck(.init(text)))
        check.add(content)
        #expect(!check.isPassed)
      }
    }
  }

  @Test(arguments: [
    "md5-2a1560147630182f7193906076399816", "md5-AAAA", "md5-", "md5", "", "sha1-AAAA",
    "crc-AAAAAAAAAAAAAAAAAAAAAA==", "MD5-1B2M2Y8AsgTpgAmY7PhCfg==",
  ])
  func `a digest in another spelling is not checked`(_ text: String) {
    #expect(ContentCheck(.init(text)) == nil)
  }

  @Test func `the digest of encoded content is not checked`() {
    let text = "md5-1B2M2Y8AsgTpgAmY7PhCfg=="
    #expect(ContentCheck(.init(text)) != nil)
    #expect(ContentCheck(.init(text, encoding: "gzip", encodedLength: 20)) == nil)
    #expect(ContentCheck(nil) == nil)
  }
}
