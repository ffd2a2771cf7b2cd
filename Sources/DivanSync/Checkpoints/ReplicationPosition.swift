public import Divan

/// A position in the changes of a peer, which only that peer understands.
public struct ReplicationPosition: Hashable, Sendable {
  /// The position as the peer sent it: usually a string, and a number in old engines.
  public let value: Value

  /// Creates a position from what a peer sent.
  public init(_ value: Value) { self.value = value }
}
