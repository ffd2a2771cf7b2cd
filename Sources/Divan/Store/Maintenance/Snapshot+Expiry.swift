import DivanLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Snapshot {
  /// Returns when a document is to be purged, in whole milliseconds; nil if never.
  ///
  /// Nil also if there is no such document. Documents that do not expire cost only an index lookup.
  public func expiry(of id: String) throws -> Date? { try view.expiry(of: id) }
}
