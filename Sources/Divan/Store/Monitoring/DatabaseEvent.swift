internal import DivanLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Something that happened in an open database, for a program's log.
///
/// ``Configuration/eventHandler`` receives events. Each has a ``kind``, a ``level``, a ``message``
/// for people, and details in properties that depend on its kind.
///
/// ```swift
/// configuration.eventHandler = DatabaseEvent.Handler { event in
///   switch event.kind {
///   case .slowQuery: print(event.message, event.query?.text ?? "")
///   case .maintenanceFailed, .damageFound, .writingStopped: print("Attention:", event)
///   default: break
///   }
/// }
/// ```
///
/// New kinds may come with new versions, so always keep a branch for the rest.
public struct DatabaseEvent: Sendable {
  /// What happened.
  public let kind: Kind
  /// How much attention the event needs.
  public let level: Level
  /// A sentence for people, on one line, without users' data: no IDs, no values, no paths.
  public let message: String
  /// When it happened, by the machine's clock.
  public internal(set) var date = Date(timeIntervalSince1970: 0)
  /// The path of the store, not escaped.
  public internal(set) var path = ""
  /// How long the work took; nil if the event is not about work.
  public internal(set) var duration: Duration?
  /// The failure or the damage; nil if the event is not about one.
  ///
  /// It is a ``DatabaseError``, except for ``DatabaseEvent/Kind/autosaveFailed``, which may have
  /// any error.
  public internal(set) var error: (any Error)?
  /// The result of opening: ``DatabaseEvent/Kind/opened`` and ``DatabaseEvent/Kind/recovered``.
  public internal(set) var openingReport: OpeningReport?
  /// The details of ``DatabaseEvent/Kind/checkpointWritten``.
  public internal(set) var checkpoint: CheckpointDetails?
  /// The details of ``DatabaseEvent/Kind/compacted``.
  public internal(set) var compaction: CompactionDetails?
  /// The details of ``DatabaseEvent/Kind/slowQuery``.
  public internal(set) var query: QueryDetails?
  /// The details of ``DatabaseEvent/Kind/slowCommit``.
  public internal(set) var commit: CommitDetails?

  init(_ kind: Kind, _ level: Level, _ message: String, _ duration: Duration? = nil) {
    self.kind = kind
    self.level = level
    self.message = printable(message)
    self.duration = duration
  }
}

extension DatabaseEvent {
  /// How much attention an event needs.
  ///
  /// ```swift
  /// var configuration = Configuration()
  /// configuration.eventHandler = .standardError(from: .notice)
  /// ```
  public enum Level: Int, Sendable, Comparable, CaseIterable, CustomStringConvertible {
    /// Normal work.
    case info
    /// Rare, and in order.
    case notice
    /// Something is slow, or failed and is tried again.
    case warning
    /// Data or the ability to write is affected.
    case error

    /// Whether the first level needs less attention.
    public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }

    /// The level's name, as in the source.
    public var description: String {
      switch self {
      case .info: "info"
      case .notice: "notice"
      case .warning: "warning"
      case .error: "error"
      }
    }
  }

  /// A kind of event.
  ///
  /// ```swift
  /// let urgent: Set<DatabaseEvent.Kind> = [.damageFound, .writingStopped]
  /// configuration.eventHandler = DatabaseEvent.Handler { event in
  ///   if urgent.contains(event.kind) { alert(event.message) }
  /// }
  /// ```
  ///
  /// It is not an enumeration, because new kinds must not break programs.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The kind's name, as in the source.
    public let description: String

    init(_ name: String) { description = name }
  }
}

extension DatabaseEvent.Kind {
  // From opening to closing.

  /// The database was opened: ``DatabaseEvent/openingReport``.
  public static let opened = Self("opened")
  /// Opening found a store that had not been closed: ``DatabaseEvent/openingReport``.
  ///
  /// It follows ``DatabaseEvent/Kind/opened``.
  public static let recovered = Self("recovered")
  /// The database could not be opened: ``DatabaseEvent/error``, which is also thrown.
  public static let openingFailed = Self("openingFailed")
  /// The database was closed; the last event.
  ///
  /// ``DatabaseEvent/error`` is what `close` threw.
  public static let closed = Self("closed")

  // Maintenance.

  /// A checkpoint was written: ``DatabaseEvent/checkpoint``.
  public static let checkpointWritten = Self("checkpointWritten")
  /// Segments were compacted: ``DatabaseEvent/compaction``.
  public static let compacted = Self("compacted")
  /// Maintenance in the background failed, and is tried again later: ``DatabaseEvent/error``.
  ///
  /// Nothing is lost. Until it succeeds, the store takes more space, and takes longer to open.
  public static let maintenanceFailed = Self("maintenanceFailed")
  /// Maintenance in the background succeeded after it had failed.
  public static let maintenanceSucceeded = Self("maintenanceSucceeded")

  // Slow work.

  /// A query took at least ``Configuration/slowQueryThreshold``: ``DatabaseEvent/query``.
  public static let slowQuery = Self("slowQuery")
  /// A transaction took at least ``Configuration/slowCommitThreshold``: ``DatabaseEvent/commit``.
  public static let slowCommit = Self("slowCommit")

  // Failures.

  /// Damage was found: ``DatabaseEvent/error`` says where.
  ///
  /// Each damaged position is reported once while the database is open.
  public static let damageFound = Self("damageFound")
  /// A damaged page of the index was rebuilt from the log.
  ///
  /// No document is affected.
  public static let pageRebuilt = Self("pageRebuilt")
  /// No more is written until the store is opened again: ``DatabaseEvent/error`` is the cause.
  public static let writingStopped = Self("writingStopped")
  /// An autosaving context could not save a model, and tries again: ``DatabaseEvent/error``.
  public static let autosaveFailed = Self("autosaveFailed")
}
