public import Divan

/// Runs a body, and returns which documents it inserted, updated and deleted.
///
/// ```swift
/// let changes = try observeChanges(in: database) { try trip.delete() }
/// #expect(changes == ObservedChanges(deleted: ["elbe"]))
/// ```
///
/// Changes of other threads and tasks in the meantime are included. Takes time for the IDs of all
/// documents.
///
/// - Throws: The errors of the body and of reading.
public func observeChanges(
  in database: Database, _ body: () throws -> Void
) throws -> ObservedChanges {
  let earlier = try DocumentRevisions(database.snapshot())
  try body()
  return ObservedChanges(from: earlier, to: try DocumentRevisions(database.snapshot()))
}

/// Runs a body, and waits until some documents have changed; returns which ones.
///
/// ```swift
/// let changes = try await expectChanges(in: database) { trip.title = "Rome" }   // autosaved
/// #expect(changes == ObservedChanges(updated: [trip.id]))
/// ```
///
/// The changes are those since before the body ran, once it has returned and there are any. If more
/// than one commit follows, say which changes you expect:
/// ``expectChanges(_:in:within:isolation:_:)``.
///
/// - Parameters:
///   - database: The database that is observed.
///   - limit: How long to wait after the body has returned.
///   - actor: The actor of the caller, on which the body runs.
///   - body: Makes the changes, or starts work that makes them.
/// - Returns: The changes, of which there is at least one.
/// - Throws: ``ChangesNotObserved`` if nothing has changed in time; the errors of the body and of
///   reading; `CancellationError`.
public func expectChanges(
  in database: Database, within limit: Duration = .seconds(1),
  isolation actor: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
) async throws -> ObservedChanges {
  try await observe(nil, in: database, within: limit, body)
}

/// Runs a body, and waits until exactly the expected documents have changed.
///
/// ```swift
/// try await expectChanges(.init(inserted: ["rome"], updated: ["elbe"]), in: database) {
///   try await importer.run()
/// }
/// ```
///
/// It returns as soon as the changes since before the body are the expected ones, and does not
/// notice changes after that. To expect no changes, use ``observeChanges(in:_:)``, after whatever
/// might have made them.
///
/// - Parameters:
///   - expected: The changes to wait for.
///   - database: The database that is observed.
///   - limit: How long to wait after the body has returned.
///   - actor: The actor of the caller, on which the body runs.
///   - body: Makes the changes, or starts work that makes them.
/// - Throws: ``ChangesNotObserved``, with the changes that there are, if they are not the expected
///   ones in time; the errors of the body and of reading; `CancellationError`.
public func expectChanges(
  _ expected: ObservedChanges, in database: Database, within limit: Duration = .seconds(1),
  isolation actor: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
) async throws {
  _ = try await observe(expected, in: database, within: limit, body)
}

private func observe(
  _ expected: ObservedChanges?, in database: Database, within limit: Duration,
  isolation actor: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
) async throws -> ObservedChanges {
  let earlier = try DocumentRevisions(database.snapshot())
  try await body()
  let clock = ContinuousClock()
  let deadline = clock.now + limit
  var checkCount = 0
  while true {
    checkCount += 1
    let start = clock.now
    let changes = ObservedChanges(
      from: earlier, to: try DocumentRevisions(database.snapshot()))
    if let expected {
      if changes == expected { return changes }
    } else if !changes.isEmpty {
      return changes
    }
    // On an actor that was busy for longer than the limit, the work may not have had its turn yet.
    guard start < deadline || checkCount < 20 else {
      throw ChangesNotObserved(expected: expected, observed: changes, limit: limit)
    }
    // A large database must not be read all the time.
    try await Task.sleep(for: max(.milliseconds(2), (clock.now - start) * 2))
  }
}

/// The expected changes were not made in time.
///
/// ```swift
/// let error = await #expect(throws: ChangesNotObserved.self) {
///   try await expectChanges(in: database, within: .milliseconds(20)) {}
/// }
/// #expect(error?.expected == nil)
/// ```
public struct ChangesNotObserved: Error, Hashable, CustomStringConvertible {
  /// The expected changes; nil if any would have been enough.
  public let expected: ObservedChanges?
  /// The changes that were made.
  public let observed: ObservedChanges
  /// How long was waited for them.
  public let limit: Duration

  /// What was expected, and what was observed.
  public var description: String {
    guard let expected else { return "no document has changed within \(limit)" }
    return "expected within \(limit): \(expected); observed: \(observed)"
  }
}
