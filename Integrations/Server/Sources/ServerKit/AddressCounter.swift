import NIOCore
import Synchronization

/// Counts the connections of each address, so that one cannot have all of them.
final class AddressCounter: Sendable {
  private let counts = Mutex<[String: Int]>([:])
  let limit: Int
  /// Whether addresses of this machine count, for tests.
  let includesThisMachine: Bool

  init(limit: Int, includesThisMachine: Bool = false) {
    self.limit = limit
    self.includesThisMachine = includesThisMachine
  }

  /// Counts a connection; returns false if its address has too many.
  func add(_ address: String) -> Bool {
    counts.withLock { counts in
      guard counts[address, default: 0] < limit else { return false }
      counts[address, default: 0] += 1
      return true
    }
  }

  func remove(_ address: String) {
    counts.withLock { counts in
      guard let count = counts[address] else { return }
      counts[address] = count > 1 ? count - 1 : nil
    }
  }

  /// Returns what an address counts as: one of IPv4, or a network of IPv6, of which a client mostly
  /// has all addresses.
  ///
  /// It is nil for this machine, whose programs connect for many clients.
  func key(of address: SocketAddress?) -> String? {
    guard var text = address?.ipAddress else { return nil }
    // An address of IPv4 where a socket has those of IPv6.
    if text.hasPrefix("::ffff:"), text.contains(".") { text = String(text.dropFirst(7)) }
    if text == "::1" || text.hasPrefix("127.") { return includesThisMachine ? text : nil }
    return text.contains(":") ? Self.network(of: text) : text
  }

  /// The first four groups of an address of IPv6, in which zeros may be left out once.
  private static func network(of address: String) -> String {
    let groups = address.split(separator: ":", omittingEmptySubsequences: false)
    guard let gap = groups.firstIndex(of: "") else {
      return groups.prefix(4).joined(separator: ":")
    }
    let (first, last) = (groups[..<gap], groups[gap...].filter { !$0.isEmpty })
    let zeros = [Substring](repeating: "0", count: max(0, 8 - first.count - last.count))
    return (first + zeros + last).prefix(4).joined(separator: ":")
  }
}

/// Closes a connection at once whose address has too many.
final class AddressLimitHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = Any

  private let counter: AddressCounter
  /// What the connection counts as.
  private var key: String?

  init(_ counter: AddressCounter) { self.counter = counter }

  func channelActive(context: ChannelHandlerContext) {
    if let key = counter.key(of: context.channel.remoteAddress) {
      guard counter.add(key) else {
        context.close(promise: nil)
        return
      }
      self.key = key
    }
    context.fireChannelActive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    if let key { counter.remove(key) }
    key = nil
  }
}
