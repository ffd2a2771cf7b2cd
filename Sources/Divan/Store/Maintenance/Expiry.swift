import DivanLog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Expiries as they are stored.
enum Expiry {
  /// The last millisecond of the year 9999.
  private static let latest = 253_402_300_799_999.0

  /// Returns a date in milliseconds since 1970; an earlier one counts as 1970.
  static func time(of date: Date, _ id: String) throws(DatabaseError) -> UInt64 {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
    guard milliseconds.isFinite, milliseconds <= latest else {
      throw DatabaseError(
        .invalidValue, "a document cannot expire after the year 9999", documentID: id)
    }
    return UInt64(max(0, milliseconds))
  }

  static func date(_ time: UInt64) -> Date { Date(timeIntervalSince1970: Double(time) / 1000) }

  /// Returns the upper bound of the keys of expiries through a time.
  static func end(_ time: UInt64) -> [UInt8] {
    time < .max
      ? CatalogKey.first(of: .expiry) + (time + 1).bigEndianBytes
      : [CatalogKey.Kind.expiry.rawValue + 1]
  }

  /// Returns the time and the document ID in a key of the catalog; nil if it is not an expiry's.
  static func read(_ key: SharedBytes) -> (time: UInt64, id: SharedBytes)? {
    guard key.count > 9, key[0] == CatalogKey.Kind.expiry.rawValue else { return nil }
    return (UInt64(bigEndian: key.load(UInt64.self, at: 1)), key.suffix(from: 9))
  }
}
