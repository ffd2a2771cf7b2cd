import Divan
import DivanLog
import Foundation

/// The salted hash of a password: PBKDF2 with HMAC-SHA256 (RFC 8018).
///
/// ```swift
/// let hash = PasswordHash(of: password)
/// let text = "\(hash)"                    // to a file of users
/// let same = PasswordHash(text)
/// ```
///
/// The text has the form `pbkdf2-sha256$iterations$salt$hash`, with Base64 for the last two.
public struct PasswordHash: Sendable, Hashable {
  let iterationCount: Int
  let salt: [UInt8]
  let hash: [UInt8]

  /// The number of iterations that the Open Worldwide Application Security Project recommends.
  public static let recommendedIterationCount = 600_000

  /// The iterations that a text may ask for, so that a check takes seconds at most.
  private static let iterationLimit = 10_000_000

  /// Computes the hash of a password with a new salt of 16 random bytes.
  ///
  /// It takes some tenths of a second, which makes guessing expensive.
  ///
  /// - Parameters:
  ///   - password: The password, in UTF-8. Its characters are not normalized.
  ///   - iterationCount: The number of iterations, at least 1.
  public init(of password: String, iterationCount: Int = Self.recommendedIterationCount) {
    let count = min(max(1, iterationCount), Self.iterationLimit)
    var generator = SystemRandomNumberGenerator()
    let salt = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    self.init(
      iterationCount: count, salt: salt, hash: Self.derive(password, salt, count))
  }

  init(iterationCount: Int, salt: [UInt8], hash: [UInt8]) {
    self.iterationCount = iterationCount
    self.salt = salt
    self.hash = hash
  }

  /// Returns whether a password has this hash.
  ///
  /// It takes as long as computing the hash did, for any password.
  public func matches(_ password: String) -> Bool {
    Self.areEqual(Self.derive(password, salt, iterationCount), hash)
  }

  /// Computes the first 32 bytes of PBKDF2, which are one block of it.
  static func derive(_ password: String, _ salt: [UInt8], _ iterationCount: Int) -> [UInt8] {
    let key = HMAC256.Key(Array(password.utf8))
    var block = HMAC256.code(of: salt + [0, 0, 0, 1], key)
    var words = block.words
    for _ in 1..<max(iterationCount, 1) {
      block = HMAC256.code(of: block.bytes, key)
      words.0 ^= block.words.0
      words.1 ^= block.words.1
      words.2 ^= block.words.2
      words.3 ^= block.words.3
    }
    return SHA256.Digest(words: words).bytes
  }

  /// Compares without saying by the time where the first difference is.
  static func areEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    guard a.count == b.count else { return false }
    return zip(a, b).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}

extension PasswordHash: LosslessStringConvertible {
  private static let scheme = "pbkdf2-sha256"

  /// The hash as a text; it has the salt, and not the password.
  public var description: String {
    let parts = [salt, hash].map { Data($0).base64EncodedString() }
    return "\(Self.scheme)$\(iterationCount)$\(parts[0])$\(parts[1])"
  }

  /// Reads the text of a hash; nil if it is none.
  public init?(_ description: String) {
    let parts = description.split(separator: "$", omittingEmptySubsequences: false)
    guard parts.count == 4, parts[0] == Self.scheme, let count = Int(parts[1]),
      (1...Self.iterationLimit).contains(count),
      let salt = Data(base64Encoded: String(parts[2])), salt.count >= 8,
      let hash = Data(base64Encoded: String(parts[3])), hash.count == SHA256.Digest.size
    else { return nil }
    self.init(iterationCount: count, salt: Array(salt), hash: Array(hash))
  }
}

/// Message authentication codes with SHA-256 (RFC 2104).
enum HMAC256 {
  /// A key, as the states of the two hashes after their first blocks.
  struct Key: Sendable {
    fileprivate var inner = SHA256()
    fileprivate var outer = SHA256()

    init(_ bytes: [UInt8]) {
      let blockSize = 64
      var block = bytes.count > blockSize ? SHA256.digest(of: bytes.span).bytes : bytes
      block += [UInt8](repeating: 0, count: blockSize - block.count)
      let (innerBlock, outerBlock) = (block.map { $0 ^ 0x36 }, block.map { $0 ^ 0x5C })
      inner.add(innerBlock.span)
      outer.add(outerBlock.span)
    }

    /// Creates a key of 32 random bytes.
    static func random() -> Key {
      var generator = SystemRandomNumberGenerator()
      return Key((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }
  }

  static func code(of message: [UInt8], _ key: Key) -> SHA256.Digest {
    var inner = key.inner
    inner.add(message.span)
    let digest = inner.digest.bytes
    var outer = key.outer
    outer.add(digest.span)
    return outer.digest
  }
}
