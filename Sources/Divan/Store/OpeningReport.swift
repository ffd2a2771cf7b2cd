internal import DivanLog

/// What opening a store found, and what it did about it.
public struct OpeningReport: Sendable {
  /// How the log was found to end.
  public enum Ending: Sendable, Equatable {
    /// There was no store; a new one was made.
    case created
    /// The store was closed, and nothing has happened to it since.
    case closed
    /// The writer ended without closing the store: a crash, a power failure, or a kill.
    case interrupted
  }

  /// How the log was found to end.
  public internal(set) var ending = Ending.closed
  /// Commits that were read from the log, since no checkpoint covers them.
  public internal(set) var replayedCommits = 0
  /// Commits at the end of the log that may not have been durable, and were made so.
  public internal(set) var securedCommits = 0
  /// Bytes of an unfinished transaction at the end of the log that were left out.
  public internal(set) var discardedBytes = 0
  /// What is damaged in what had to be read.
  ///
  /// If anything is, the store is open for reading only, and ``Configuration/damage`` says what can be
  /// read of it.
  public internal(set) var damage: [DatabaseError] = []
  /// How many records were found whole in transactions that are damaged.
  ///
  /// With ``DamagePolicy/refuse`` those are read that are known exactly, and with ``DamagePolicy/readWhatIsThere`` all.
  public internal(set) var salvagedRecords = 0
  /// Whatever else is worth knowing, in sentences.
  public internal(set) var notes: [String] = []
  /// How long opening took.
  public internal(set) var duration: Duration = .zero
}

extension OpeningReport: CustomStringConvertible {
  /// The report in some sentences.
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
