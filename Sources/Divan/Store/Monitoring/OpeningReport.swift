internal import DivanLog

/// The result of opening a store: the state that was found, and the repairs.
///
/// ```swift
/// let report = database.openingReport
/// if report.ending == .interrupted { print("The store was not closed:", report) }
/// ```
public struct OpeningReport: Sendable {
  /// The state of the log's end when the store was opened.
  ///
  /// ```swift
  /// if database.openingReport.ending == .interrupted {
  ///   print("Sound after the crash:", try database.check().isSound)
  /// }
  /// ```
  public enum Ending: Sendable, Equatable {
    /// There was no store; a new one was made.
    case created
    /// The store was closed, and has not changed since.
    case closed
    /// The writer ended without closing the store: a crash, a power failure, or a kill.
    case interrupted
  }

  /// The state of the log's end when the store was opened.
  public internal(set) var ending = Ending.closed
  /// The number of commits that were read from the log, because no checkpoint covers them.
  public internal(set) var replayedCommits = 0
  /// The number of commits at the end of the log that may not have been durable, and were made so.
  public internal(set) var securedCommits = 0
  /// The bytes of an unfinished transaction at the end of the log that were left out.
  public internal(set) var discardedBytes = 0
  /// The damage in the files that opening had to read.
  ///
  /// If there is any, the store is open for reading only, and ``Configuration/damage`` decides what
  /// can be read of it.
  public internal(set) var damage: [DatabaseError] = []
  /// The number of whole records that were found in damaged transactions.
  ///
  /// With ``DamagePolicy/reject`` only those that are known exactly are read, and with
  /// ``DamagePolicy/salvage`` all.
  public internal(set) var salvagedRecords = 0
  /// Other notes, as sentences.
  public internal(set) var notes: [String] = []
  /// The errors of attachments that full-text indexes could not read; ``notes`` has them as text.
  private(set) var unreadAttachments: [DatabaseError] = []
  /// The time that opening took.
  public internal(set) var duration: Duration = .zero
}

extension OpeningReport {
  /// The number of attachments that are noted one by one.
  private static let notedAttachmentLimit = 10

  /// Notes the attachments that full-text indexes could not read, each once.
  mutating func noteUnread(_ errors: [DatabaseError]) {
    var known: Set<[String?]> = []
    let errors = errors.filter { known.insert([$0.documentID, $0.message]).inserted }
    unreadAttachments = errors
    for error in errors.prefix(OpeningReport.notedAttachmentLimit) {
      let document = error.documentID.map { $0.debugDescription } ?? "with an ID that is no text"
      notes.append("In the document \(document), \(error.message)")
    }
    let others = errors.count - OpeningReport.notedAttachmentLimit
    if others > 0 { notes.append("Full-text indexes cannot read \(others) other attachments") }
  }
}

extension OpeningReport: CustomStringConvertible {
  /// The report as text.
  public var description: String {
    var text =
      switch ending {
      case .created: "A new store was made."
      case .closed: "The store had been closed properly."
      case .interrupted: "The store had not been closed."
      }
    if replayedCommits > 0 { text += " \(replayedCommits) commits were read from the log." }
    if securedCommits > 0 {
      text += " \(securedCommits) of the newest were logged again to make them durable."
    }
    if discardedBytes > 0 {
      text += " \(discardedBytes) bytes of an unfinished transaction were left out."
    }
    for error in damage { text += " Damage: \(error)." }
    if salvagedRecords > 0 {
      text += " \(salvagedRecords) records of damaged transactions are whole."
    }
    for note in notes { text += " \(note)." }
    return printable(text)
  }
}
