import DivanLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension WriteTransaction {
  /// Sets the time at which a document is to be purged: removed completely, without a tombstone.
  ///
  /// The document is purged in the background soon after that time. If the database is closed then,
  /// it is purged soon after it is opened again. Until then the document exists. Change feeds
  /// report neither this call nor the purge. The document keeps its revision and its sequence
  /// number, and later revisions keep the expiry. Deleted documents can expire, too.
  ///
  /// Costs writing the document's newest revision again.
  ///
  /// - Parameters:
  ///   - date: the time, rounded to milliseconds; a past one counts as now. Nil for never.
  ///   - id: the ID of the document.
  /// - Throws: ``DatabaseError`` with the codes `notFound` if there is no such document,
  ///   `invalidValue` if the date is not finite or after the year 9999, `transactionTooLarge`,
  ///   `closed`, and `damaged` or `inputOutput` if the document cannot be read.
  public func setExpiry(_ date: Date?, of id: String) throws {
    try check()
    let time = try date.map { try Expiry.time(of: $0, id) }
    guard let current = try view.entry(id) else {
      throw DatabaseError(.notFound, "there is no document with this ID", documentID: id)
    }
    var record = try view.newestRecord(of: current, id)
    var details = record.details ?? DocumentDetails()
    guard details.expiry != time else { return }
    details.supersededExpiry = details.expiry
    details.expiry = time
    // Only the superseded record is released; all other records stay retained.
    details.keepsSuperseded = false
    details.released = []
    record.details = details
    record.superseded = current.superseded
    try addNewestRecord(record, id: id, over: current, isRewrite: true)
    if let time { earliestExpiry = min(time, earliestExpiry ?? time) }
  }

  /// Returns when a document is to be purged; nil if never, or if there is no document.
  public func expiry(of id: String) throws -> Date? {
    try check()
    return try view.expiry(of: id)
  }
}

extension WriteTransaction {
  /// Whether the record of a purge fits in the transaction.
  var hasRoomForPurge: Bool { size + 512 < store.configuration.transactionSizeLimit }

  /// Purges the document of an expiry; returns false if its expiry has changed.
  func purgeExpired(_ key: SharedBytes) throws -> Bool {
    guard let (time, bytes) = Expiry.read(key), let id = bytes.text,
      let current = try view.entry(id), current.traits.contains(.expiry),
      try view.newestRecord(of: current, id).details?.expiry == time
    else { return false }
    return try purge(id)
  }
}
