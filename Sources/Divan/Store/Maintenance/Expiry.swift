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
    guard let current = try entry(of: id) else {
      throw DatabaseError(.notFound, "there is no such document to expire", documentID: id)
    }
    var record = try view.newestRecord(of: current, id)
    var details = record.details ?? DocumentDetails()
    guard details.expiry != time else { return }
    details.supersededExpiry = details.expiry
    details.expiry = time
    // Only the superseded record is released; everything else that is held stays held.
    details.keepsSuperseded = false
    details.released = []
    record.details = details
    record.superseded = .init(sequence: current.sequence, locator: current.locator)
    try append(record, id: id, over: current)
    if let time { earliestExpiry = min(time, earliestExpiry ?? time) }
  }

  /// Returns when a document is to be purged; nil if never, or if there is no document.
  public func expiry(of id: String) throws -> Date? {
    try check()
    return try view.expiry(of: id)
  }
}

extension Database {
  /// Purges the documents that have expired, now; returns their number.
  ///
  /// The database does this by itself. It uses transactions of some hundred documents each.
  /// - Throws: ``DatabaseError``, as ``write(timeout:_:)-2tx42``; and `damaged` if an expired
  ///   document cannot be read. That document stays; all others are purged.
  @discardableResult
  public func purgeExpiredDocuments() throws -> Int {
    try store.purgeExpired(through: store.configuration.now())
  }
}

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

extension ReadView {
  fileprivate func expiry(of id: String) throws(DatabaseError) -> Date? {
    guard let entry = try entry(id), entry.traits.contains(.expiry) else { return nil }
    return try newestRecord(of: entry, id).details?.expiry.map(Expiry.date)
  }

  /// Returns the expiries from a key on and through a time, oldest first.
  fileprivate func expiries(
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

extension Store {
  /// The number of documents that are purged in one transaction.
  private static let purgeBatchSize = 500

  /// Purges the documents that expired through a time; returns their number.
  ///
  /// In the background it stops when the store is being closed.
  func purgeExpired(through time: UInt64, inBackground: Bool = false) throws -> Int {
    var position = KeyBound.inclusive(CatalogKey.first(of: .expiry))
    var count = 0
    var problem: DatabaseError?
    while !(inBackground && maintenance.isStopped) {
      // If nothing is due, there is no need to wait for the writer lock.
      let due = try view().expiries(from: position, through: time, limit: Store.purgeBatchSize)
      guard let last = due.last else { break }
      count += try write(
        durability: configuration.durability, timeout: nil, inBackground: inBackground
      ) { transaction in
        var purged = 0
        for key in due {
          do {
            if try transaction.purgeExpired(key) { purged += 1 }
          } catch let error as DatabaseError where error.code == .damaged {
            // An unreadable record may have a later expiry, and the others must not wait for it.
            problem = problem ?? error
          }
        }
        return purged
      }
      position = .exclusive(last.array)
    }
    if let problem { throw problem }
    return count
  }

  private var purgesInBackground: Bool {
    configuration.maintenance == .background && configuration.purgesExpired && refusal == nil
  }

  /// Arms the expiry timer for `time` if that is earlier than the current deadline.
  func noteExpiry(_ time: UInt64) {
    if purgesInBackground { maintenance.expiry.arm(time, self) }
  }

  /// Schedules the purge of documents that expired while the store was closed.
  func noteOpened() {
    guard purgesInBackground, !newest.catalog.isEmpty else { return }
    // The program's first calls should not have to wait for it.
    noteExpiry(configuration.now() + 1000)
  }

  /// Purges the documents that are due, and arms the timer for the next expiry.
  func purgeExpiredInBackground() {
    let now = configuration.now()
    var next: UInt64?
    do {
      _ = try purgeExpired(through: now, inBackground: true)
    } catch {
      // The timer tries again in a minute; until then nothing is lost but space.
      maintenance.note(error as? DatabaseError)
      next = now + 60_000
    }
    if let found = try? view().nextExpiry(after: now) { next = min(found, next ?? found) }
    if let next { noteExpiry(next) }
  }
}

extension WriteTransaction {
  /// Purges the document of an expiry; returns false if its expiry has changed.
  fileprivate func purgeExpired(_ key: SharedBytes) throws -> Bool {
    guard let (time, bytes) = Expiry.read(key), let id = bytes.text,
      let current = try entry(of: id), current.traits.contains(.expiry),
      try view.newestRecord(of: current, id).details?.expiry == time
    else { return false }
    return try purge(id)
  }
}
