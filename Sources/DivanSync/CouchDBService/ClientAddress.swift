import Divan

/// Where the requests of one client come from: an address of IPv4, or a network of IPv6.
///
/// One client of IPv6 mostly has a whole network of 64 bits, so its addresses count as one.
struct ClientAddress: Hashable, Sendable {
  private let text: String

  /// Reads an address as the system writes it; nil if it is empty, or one of this machine.
  ///
  /// Programs of this machine, such as a proxy, ask for many clients. What is no address of IPv6
  /// counts as it is written.
  init?(_ text: String?) {
    guard let text, !text.isEmpty else { return nil }
    // An address of this link has the name of its interface after a percent sign.
    let plain = text.prefix { $0 != "%" }.filter { $0 != "[" && $0 != "]" }.lowercased()
    guard plain != "::1", !plain.hasPrefix("127."), !plain.hasPrefix("::ffff:127.") else {
      return nil
    }
    if plain.hasPrefix("::ffff:"), plain.contains(".") {
      self.text = String(plain.dropFirst(7))
    } else {
      self.text = Self.network(of: plain) ?? String(plain.prefix(64))
    }
  }

  /// The first four groups of an address of IPv6; nil if it is none.
  private static func network(of address: String) -> String? {
    guard address.contains(":") else { return nil }
    let halves = address.components(of: "::")
    guard halves.count <= 2 else { return nil }
    let groups = halves.map { $0.split(separator: ":").map(String.init) }
    var all = groups[0]
    if groups.count == 2 {
      // An address of IPv4 at the end takes the place of two groups.
      let rest = groups[1].count + (groups[1].last?.contains(".") ?? false ? 1 : 0)
      all += [String](repeating: "0", count: max(0, 8 - all.count - rest)) + groups[1]
    }
    guard all.count >= 4 else { return nil }
    let numbers = all.prefix(4).map { UInt16($0, radix: 16) }
    guard !numbers.contains(nil) else { return nil }
    return numbers.compactMap { $0.map { String($0, radix: 16) } }.joined(separator: ":") + "::/64"
  }
}

extension String {
  /// The parts between a separator, empty ones too.
  fileprivate func components(of separator: String) -> [Substring] {
    split(separator: separator, omittingEmptySubsequences: false)
  }
}

/// Who a request is counted for: its user, or its address if it has none.
struct ServiceClient: Hashable, Sendable {
  let user: String?
  let address: ClientAddress?

  init(user: String?, address: ClientAddress?) {
    self.user = user
    self.address = user == nil ? address : nil
  }

  /// Whether nothing is known of the client, so that it has no limits of its own.
  var isUnknown: Bool { user == nil && address == nil }
}
