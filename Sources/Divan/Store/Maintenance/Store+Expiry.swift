import DivanLog

extension Store {
  /// The maximum number of documents that are purged in one transaction.
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
      guard !due.isEmpty else { break }
      count += try write(
        durability: configuration.durability, timeout: nil, inBackground: inBackground
      ) { transaction in
        var purged = 0
        // At least one document, and no more than fit in a transaction.
        for key in due where purged == 0 || transaction.hasRoomForPurge {
          position = .exclusive(key.array)
          do {
            if try transaction.purgeExpired(key) { purged += 1 }
          } catch let error as DatabaseError where error.code == .damaged {
            // An unreadable record may have a later expiry, and the others must not wait for it.
            problem = problem ?? error
          }
        }
        return purged
      }
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
    guard purgesInBackground, let view = try? view(), !view.state.catalog.isEmpty else { return }
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
      // The timer tries again in a minute. Until then only space is lost.
      let problem = error as? DatabaseError
      maintenance.note(problem)
      noteMaintenance(problem, after: nil)
      next = now + 60_000
    }
    if let found = try? view().nextExpiry(after: now) { next = min(found, next ?? found) }
    if let next { noteExpiry(next) }
  }
}
