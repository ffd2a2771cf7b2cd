public import Divan
import Foundation

extension ReplicationLog {
  /// The properties of the local document that contains the log.
  public var properties: Value.Object {
    var properties: Value.Object = [
      "session_id": .string(sessionID), "source_last_seq": position?.value ?? .null,
      "replication_id_version": 1, "history": .array(history.map { .object($0.properties) }),
    ]
    if !retries.isEmpty {
      properties["retries"] = .array(
        retries.map { ["id": .string($0.id), "rev": .string($0.revision.description)] })
    }
    if !failures.isEmpty { properties["failures"] = .array(failures.map(\.value)) }
    if isOfTargetOnly { properties["target_only"] = true }
    return properties
  }

  /// Reads the properties of a local document; nil if it is not a log.
  ///
  /// Entries that cannot be read are left out: fewer sessions then agree, and more is compared.
  public init?(_ properties: Value.Object) {
    guard let sessionID = properties["session_id"]?.stringValue else { return nil }
    self.sessionID = sessionID
    position = ReplicationPosition(stored: properties["source_last_seq"])
    history = (properties["history"]?.arrayValue ?? []).compactMap {
      $0.objectValue.flatMap(Entry.init(_:))
    }
    retries = (properties["retries"]?.arrayValue ?? []).compactMap { entry in
      guard let id = entry["id"]?.stringValue,
        let revision = entry["rev"]?.stringValue.flatMap({ RevisionID($0) })
      else { return nil }
      return Retry(id: id, revision: revision)
    }
    failures = (properties["failures"]?.arrayValue ?? []).compactMap(Failure.init(stored:))
    isOfTargetOnly = properties["target_only"] == true
  }
}

extension ReplicationPosition {
  fileprivate init?(stored value: Value?) {
    guard let value, value != .null else { return nil }
    self.init(value)
  }
}

extension ReplicationLog.Entry {
  private typealias Count = any WritableKeyPath<ReplicationCounts, Int> & Sendable

  private static let counts: [(key: String, path: Count)] = [
    ("missing_checked", \.revisionsChecked), ("missing_found", \.revisionsMissing),
    ("docs_read", \.revisionsRead), ("docs_written", \.revisionsWritten),
    ("doc_write_failures", \.revisionsFailed), ("attachments_written", \.attachmentsWritten),
    ("attachment_bytes", \.attachmentBytes),
  ]

  fileprivate var properties: Value.Object {
    var properties: Value.Object = [
      "session_id": .string(sessionID), "recorded_seq": position?.value ?? .null,
      "start_time": .int(Int64(begin)), "end_time": .int(Int64(end)),
    ]
    for (key, path) in Self.counts { properties[key] = .int(Int64(counts[keyPath: path])) }
    if let lastChange {
      properties["last_change"] = [
        "id": .string(lastChange.id),
        "revs": .array(lastChange.leaves.map { .string($0.description) }),
      ]
    }
    return properties
  }

  fileprivate init?(_ properties: Value.Object) {
    guard let sessionID = properties["session_id"]?.stringValue else { return nil }
    self.init(
      sessionID: sessionID, position: ReplicationPosition(stored: properties["recorded_seq"]))
    lastChange = properties["last_change"].flatMap(ReplicationLog.Change.init(stored:))
    begin = properties["start_time"]?.intValue ?? 0
    end = properties["end_time"]?.intValue ?? 0
    for (key, path) in Self.counts {
      counts[keyPath: path] = properties[key]?.intValue ?? 0
    }
  }
}

extension ReplicationLog.Change {
  fileprivate init?(stored value: Value) {
    guard let id = value["id"]?.stringValue else { return nil }
    let leaves = (value["revs"]?.arrayValue ?? []).compactMap {
      $0.stringValue.flatMap { RevisionID($0) }
    }
    guard !leaves.isEmpty else { return nil }
    self.init(id: id, leaves: leaves)
  }
}

extension ReplicationLog.Failure {
  fileprivate var value: Value {
    var members: Value.Object = ["id": .string(id), "reason": .string(reason)]
    if let revision { members["rev"] = .string(revision.description) }
    return .object(members)
  }

  fileprivate init?(stored value: Value) {
    guard let id = value["id"]?.stringValue else { return nil }
    let revision = value["rev"]?.stringValue
    self.init(
      id: id, revision: revision.flatMap { RevisionID($0) },
      reason: value["reason"]?.stringValue ?? "")
    // One whose revision cannot be read is not one of a change.
    if revision != nil, self.revision == nil { return nil }
  }
}
