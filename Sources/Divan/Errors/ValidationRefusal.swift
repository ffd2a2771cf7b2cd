internal import DivanLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The reason why a validation refuses to store a revision.
///
/// A validation throws it, most simply through ``ProposedRevision/refuse(_:keys:)``. The call that
/// stores the revision throws a ``DatabaseError`` with the code ``DatabaseError/Code/refused``,
/// whose ``DatabaseError/refusal`` this is.
public struct ValidationRefusal: Error, Sendable, Equatable {
  /// The reason, in a sentence or less.
  public let reason: String
  /// The names of the invalid properties; empty if the reason is not about certain properties.
  public let keys: [String]

  /// Creates a refusal.
  public init(_ reason: String, keys: [String] = []) {
    self.reason = reason
    self.keys = keys
  }
}

extension ValidationRefusal: CustomStringConvertible {
  /// The reason, and the names of the properties.
  public var description: String {
    printable(keys.isEmpty ? reason : "\(reason) (\(keys.joined(separator: ", ")))")
  }
}

extension ValidationRefusal: LocalizedError {
  /// The same as ``description``.
  public var errorDescription: String? { description }
}
