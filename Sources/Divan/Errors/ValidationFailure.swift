internal import DivanLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The reason why a validation rejects a revision.
///
/// ```swift
/// do {
///   try database.write { try $0.put(Document(id: "film", ["year": 1927])) }
/// } catch let error as DatabaseError where error.code == .validationFailed {
///   print(error.validationFailure?.reason ?? error.message)
/// }
/// ```
///
/// A validation throws it, most simply through ``ProposedRevision/reject(_:keys:)``. The call that
/// stores the revision throws a ``DatabaseError`` with the code
/// ``DatabaseError/Code/validationFailed``, whose ``DatabaseError/validationFailure`` this is.
public struct ValidationFailure: Error, Sendable, Equatable {
  /// The reason, in a sentence or less.
  public let reason: String
  /// The names of the invalid properties; empty if the reason is not about certain properties.
  public let keys: [String]

  /// Creates a failure.
  public init(_ reason: String, keys: [String] = []) {
    self.reason = reason
    self.keys = keys
  }
}

extension ValidationFailure: CustomStringConvertible {
  /// The reason, and the names of the properties.
  public var description: String {
    printable(keys.isEmpty ? reason : "\(reason) (\(keys.joined(separator: ", ")))")
  }
}

extension ValidationFailure: LocalizedError {
  /// The same as ``description``.
  public var errorDescription: String? { description }
}
