import DivanLog
import Synchronization

extension Store {
  /// Does what remains to be done once the store can be used, after opening and after resuming.
  func finishOpening() {
    do throws(DatabaseError) {
      if report.ending == .interrupted { try deleteOrphanedAttachments() }
    } catch {
      // A later pass tries again. Until then only space is lost.
      maintenance.note(error)
      noteMaintenance(error, after: nil)
    }
    noteOpened()
    followWriter()
  }

  /// Begins to follow the process that writes, if the configuration says so.
  private func followWriter() {
    guard configuration.isReadOnly, case .automatically(let interval) = configuration.followsWriter
    else { return }
    following.start(every: interval) { [self] in
      do {
        _ = try refresh()
        maintenance.note(nil)
      } catch {
        // The next round tries again.
        maintenance.note(error as? DatabaseError)
      }
    }
  }
}
