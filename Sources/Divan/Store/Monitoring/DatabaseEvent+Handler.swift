import DivanLog

extension DatabaseEvent {
  /// Receives the events of a database: ``Configuration/eventHandler``.
  ///
  /// ```swift
  /// configuration.eventHandler = DatabaseEvent.Handler { event in log.append(event.logLine) }
  /// ```
  ///
  /// A handler is called on a queue of its own, outside of all locks of the database, one event at
  /// a time. Events arrive in the order in which they were reported: those of one thread in the
  /// order in which they happened, ``DatabaseEvent/Kind/opened`` first, and
  /// ``DatabaseEvent/Kind/closed`` last. They arrive some microseconds after they happened, and no
  /// call waits for the handler, except `close`, which waits for at most a second. A handler cannot
  /// change what a call does or throws.
  ///
  /// A handler may use the database, also to write. Events that its own calls cause on its thread
  /// are not reported; otherwise a slow query in a handler of slow queries would never end. If a
  /// handler starts tasks that use the database, it must prevent such loops itself.
  ///
  /// At most 1,000 events wait. If a handler is too slow, newer ones are dropped and counted:
  /// ``DatabaseMetrics/droppedEvents``. The database keeps the handler until it is closed, so
  /// capture the database weakly.
  public struct Handler: Sendable {
    let receive: @Sendable (DatabaseEvent) -> Void

    /// Creates a handler that calls a function with each event.
    public init(_ receive: @escaping @Sendable (DatabaseEvent) -> Void) {
      self.receive = receive
    }
  }
}

extension DatabaseEvent.Handler {
  /// A handler that writes events to the standard error stream, one line each.
  ///
  /// A line is ``DatabaseEvent/logLine``. It contains users' data: the paths and IDs of errors, and
  /// the values of slow queries. Lines that cannot be written are lost.
  ///
  /// ```
  /// 2026-03-01T12:00:00.000Z info divan opened: The database was opened in … (store …)
  /// ```
  ///
  /// - Parameter level: The lowest level that is written.
  /// - Returns: The handler.
  public static func standardError(from level: DatabaseEvent.Level = .info) -> Self {
    Self { event in
      guard event.level >= level else { return }
      var line = ByteWriter(capacity: 256)
      line.append(Array((event.logLine + "\n").utf8))
      try? StandardStream.error.write(line)
    }
  }
}

extension DatabaseEvent {
  /// The event as a line of a log, without a line end.
  ///
  /// The parts are the time in UTC with milliseconds, the level, the word `divan`, the kind with a
  /// colon, the message, and the details in parentheses.
  public var logLine: String {
    let time = ISO8601Date.text(of: date).map { String(decoding: $0, as: UTF8.self) } ?? "-"
    return "\(time) \(level) divan \(kind): \(message) (\(details))"
  }
}
