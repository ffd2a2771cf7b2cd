import Divan
import DivanLog
import Foundation
import Synchronization

/// Checks names and passwords, one at a time and on a thread of its own.
///
/// Addresses have it in turns, so that one that sends many does not keep others waiting.
///
/// A pair that was right is remembered as a code of it, so that not every request with Basic
/// credentials costs a check. Wrong pairs are not remembered, and only so many are checked.
final class PasswordChecker: Sendable {
  private let users: [String: CouchDBService.User]
  private let rates: RateLimiter<ServiceAttempt>
  /// An address that tries many names has fewer checks, and so have all clients without one.
  private let addressRates: RateLimiter<ClientAddress?>
  private let known = Mutex<Set<[UInt8]>>([])
  private let knownKey = HMAC256.Key.random()
  private let checks = FairQueue<ClientAddress>(32, each: 8, label: "divan.sync.passwords")
  /// What a name is checked against that no user has, so that it takes as long.
  private let absent: PasswordHash

  private static let knownLimit = 4096

  init(_ configuration: CouchDBService.Configuration) {
    let users = configuration.users ?? []
    self.users = Dictionary(users.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
    let iterationCount = users.map(\.password.iterationCount).max() ?? 1
    absent = PasswordHash(
      iterationCount: iterationCount, salt: [UInt8](repeating: 0, count: 16),
      hash: [UInt8](repeating: 0, count: 32))
    let limits = configuration.limits
    let (rate, burst) = (limits.passwordChecksPerSecond, limits.passwordCheckBurst)
    rates = RateLimiter(rate: rate, burst: burst)
    addressRates = RateLimiter(rate: 4 * rate, burst: 4 * burst)
  }

  func user(_ name: String) -> CouchDBService.User? {
    guard let user = users[name] else { return nil }
    // Strings are equal if their characters are; names are compared by their bytes.
    return user.name.utf8.elementsEqual(name.utf8) ? user : nil
  }

  /// Returns the user with a name and a password.
  ///
  /// - Throws: ``ServiceError`` with the status 401 if there is none, and 429 or 503 if too many
  ///   are checked.
  func user(
    _ name: String, _ password: String, from address: ClientAddress?
  ) async throws -> CouchDBService.User {
    let user = user(name)
    // The length of the name tells where the password begins.
    let pair = [UInt8]("\(name.utf8.count):\(name)\(password)".utf8)
    let code = HMAC256.code(of: pair, knownKey).bytes
    if let user, known.withLock({ $0.contains(code) }) { return user }
    // The limits are the same for a name that no user has: otherwise they tell which names exist.
    // The address comes first, so that one client does not have many names counted.
    try addressRates.take(address)
    let nameCode = HMAC256.code(of: Array(name.utf8), knownKey).bytes
    try rates.take(ServiceAttempt(nameCode: nameCode, address: address))
    let hash = user?.password ?? absent
    guard let matches = await checks.run(for: address, { hash.matches(password) }) else {
      throw ServiceError(
        503, "service_unavailable", "Too many passwords are being checked.",
        headers: ["retry-after": "5"])
    }
    guard let user, matches else {
      throw ServiceError(401, "unauthorized", "Name or password is incorrect.")
    }
    known.withLock { known in
      if known.count >= Self.knownLimit { known.removeAll() }
      known.insert(code)
    }
    return user
  }
}

/// Whose password is tried, and from where.
private struct ServiceAttempt: Hashable {
  /// A code of the name, which can be long, as it was sent.
  let nameCode: [UInt8]
  let address: ClientAddress?
}
