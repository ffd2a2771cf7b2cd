import DivanLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Snapshot {
  /// When a document is to be purged, in whole milliseconds; nil if never, or if there is no document.
  ///
  /// Reads the index only for documents that do not expire.
  public func expiry(of id: String) throws -> Date? { try view.expiry(of: id) }
}

extension WriteTransaction {
  /// Says when a document is to be purged: taken away as if it had never been, without a tombstone.
  ///
  /// That is done in the background soon after that time, also if the database was closed meanwhile:
  /// then soon after it is opened again. Until then the document is there. Nobody who follows changes
  /// is told, neither of this nor of the purge; the document keeps its revision and its sequence number,
  /// and later revisions keep the expiry. Deleted documents can expire, too.
  ///
  /// Costs writing the document's newest revision again.
  ///
  /// - Parameters:
  ///   - date: when, rounded to milliseconds; one that is past is as good as now. Nil for never.
  ///   - id: which document.
  /// - Throws: ``DatabaseError`` with the codes `notFound` if there is no such document, `invalidValue`
  ///   if the date is not finite or after the year 9999, `transactionTooLarge`, `closed`, and `damaged`
  ///   or `inputOutput` if the document cannot be read.
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
    // Only this record takes the place of another; whatever else is held stays so.
    details.keepsSuperseded = false
    details.released = []
    record.details = details
    record.superseded = .init(sequence: current.sequence, locator: current.locator)
    try append(record, id: id, over: current)
    if let time { earliestExpiry = min(time, earliestExpiry ?? time) }
  }

  /// When a document is to be purged; nil if never, or if there is no document.
  public func expiry(of id: String) throws -> Date? {
    try check()
    return try view.expiry(of: id)
  }
}

extension Database {
  /// Purges the documents that have expired, now; returns how many there were.
  ///
  /// The database does this by itself. It is done in transactions of some hundred documents each.
  /// - Throws: ``DatabaseError``, as ``write(timeout:_:)-2tx42``; and `damaged` if a document that expired
  ///   cannot be read, which is then left, while all others are purged.
  @discardableResult
  public func purgeExpiredDocuments() throws -> Int {
    try store.purgeExpired(through: store.configuration.now())
  }
}

/// Expiries as they are stored.
enum Expiry {
  /// The last millisecond of the year 9999.
  private static let latest = 253_402_300_799_999.0

  /// A date in milliseconds since 1970; one before that counts as 1970.
  static func time(of date: Date, _ id: String) throws(DatabaseError) -> UInt64 {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
    guard milliseconds.isFinite, milliseconds <= latest else {
      throw DatabaseError(
        .invalidValue, "a document cannot expire after the year 9999", documentID: id)
    }
    return UInt64(max(0, milliseconds))
  }

  static func date(_ time: UInt64) -> Date { Date(timeIntervalSince1970: Double(time) / 1000) }

  /// The key before all expiries after a time.
  static func end(_ time: UInt64) -> [UInt8] {
    time < .max
      ? CatalogKey.first(of: .expiry) + (time + 1).bigEndianBytes
      : [CatalogKey.Kind.expiry.rawValue + 1]
  }

  /// The time and the document in a key of the catalog; nil if it is none of an expiry.
  static func read(_ key: SharedBytes) -> (time: UInt64, id: SharedBytes)? {
    guard key.count > 9, key[0] == CatalogKey.Kind.expiry.rawValue else { return nil }
    return (UInt64(bigEndian: key.load(UInt64.self, at: 1)), key.suffix(from: 9))
  }
}

extension StoreView {
  fileprivate func expiry(of id: String) throws(DatabaseError) -> Date? {
    guard let entry = try entry(id), entry.traits.contains(.expiry) else { return nil }
    return try newestRecord(of: entry, id).details?.expiry.map(Expiry.date)
  }

  /// The expiries from a key on and through a time, oldest first.
  fileprivate func expiries(
    from key: KeyBound, through time: UInt64, limit: Int
  ) throws(DatabaseError) -> [SharedBytes] {
    var scan = state.catalog.scan(from: key, to: .exclusive(Expiry.end(time)))
    var keys: [SharedBytes] = []
    while keys.count < limit, let item = try step(&scan) { keys.append(item.key) }
    return keys
  }

  /// When the first document expires after a time.
  func nextExpiry(after time: UInt64) throws(DatabaseError) -> UInt64? {
    try expiries(from: .inclusive(Expiry.end(time)), through: .max, limit: 1).first
      .flatMap(Expiry.read)?.time
  }
}

extension Store {
  /// How many documents are purged in one transaction.
  private static let purgeBatchSize = 500

  /// Purges what expired through a time; returns how many documents.
  ///
  /// In the background it gives up when the store is being closed.
  func purgeExpired(through time: UInt64, inBackground: Bool = false) throws -> Int {
    var position = KeyBound.inclusive(CatalogKey.first(of: .expiry))
    var count = 0
    var problem: DatabaseError?
    while !(inBackground && maintenance.isStopped) {
      // Whoever has nothing to purge need not wait for the turn to write.
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
            // What cannot be read may say that it expires later, and the others shall not wait for it.
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

  /// Has a time looked to, which may be earlier than any that is looked to now.
  func noteExpiry(_ time: UInt64) {
    if purgesInBackground { maintenance.expiry.arm(time, self) }
  }

  /// Has those documents purged that expired while the store was closed.
  func noteOpened() {
    guard purgesInBackground, !newest.catalog.isEmpty else { return }
    // What the program does first should not have to wait for it.
    noteExpiry(configuration.now() + 1000)
  }

  /// Purges what expired, when it is due, and has the next expiry looked to.
  func purgeExpiredInBackground() {
    let now = configuration.now()
    var next: UInt64?
    do {
      _ = try purgeExpired(through: now, inBackground: true)
    } catch {
      // It is tried again in a minute; until then nothing is lost but space.
      maintenance.note(error as? DatabaseError)
      next = now + 60_000
    }
    if let found = try? view().nextExpiry(after: now) { next = min(found, next ?? found) }
    if let next { noteExpiry(next) }
  }
}

extension WriteTransaction {
  /// Purges the document of an expiry; returns false if it does not expire then any more.
  fileprivate func purgeExpired(_ key: SharedBytes) throws -> Bool {
    guard let (time, bytes) = Expiry.read(key), let id = bytes.text,
      let current = try entry(of: id), current.traits.contains(.expiry),
      try view.newestRecord(of: current, id).details?.expiry == time
    else { return false }
    return try purge(id)
  }
}
