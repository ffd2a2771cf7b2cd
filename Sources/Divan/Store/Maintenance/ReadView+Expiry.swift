import DivanLog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension ReadView {
  func expiry(of id: String) throws(DatabaseError) -> Date? {
    guard let entry = try entry(id), entry.traits.contains(.expiry) else { return nil }
    return try newestRecord(of: entry, id).details?.expiry.map(Expiry.date)
  }

  /// Returns the expiries from a key on and through a time, oldest first.
  func expiries(
    from key: KeyBound, through time: UInt64, limit: Int
  ) throws(DatabaseError) -> [SharedBytes] {
    var scan = state.catalog.scan(from: key, to: .exclusive(Expiry.end(time)))
    var keys: [SharedBytes] = []
    while keys.count < limit, let item = try step(&scan) { keys.append(item.key) }
    return keys
  }

  /// Returns the time of the first expiry after a time.
  func nextExpiry(after time: UInt64) throws(DatabaseError) -> UInt64? {
    try expiries(from: .inclusive(Expiry.end(time)), through: .max, limit: 1).first
      .flatMap(Expiry.read)?.time
  }
}
