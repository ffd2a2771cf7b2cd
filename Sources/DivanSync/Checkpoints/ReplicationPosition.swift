public import Divan

/// A position in the changes of a peer, which only that peer understands.
///
/// ```swift
/// let stored = try database.snapshot().localDocument("archive")?["position"]
/// let position = stored.map { ReplicationPosition($0) }
/// let changes = try await peer.changes(since: position, limit: 100, filter: .all)
/// if let next = changes.position {
///   try await database.write { try $0.putLocal("archive", ["position": next.value]) }
/// }
/// ```
public struct ReplicationPosition: Hashable, Sendable {
  /// The position as the peer sent it: usually a string, and a number in old engines.
  public let value: Value

  /// Creates a position from what a peer sent.
  public init(_ value: Value) { self.value = value }
}
