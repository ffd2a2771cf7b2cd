import Divan
import DivanSync
import Testing

/// Tests of what both peers remember of a replication.
struct ReplicationLogTests {
  /// A case that was recorded from CouchDB 3.4: two logs, and where its replicator started.
  struct Comparison: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let source: String?
    let target: String?
    let start: String?

    /// The logs are their sessions with their positions, newest first; the first is the latest.
    init(_ name: String, _ source: String?, _ target: String?, startsAt start: String?) {
      testDescription = name
      (self.source, self.target, self.start) = (source, target, start)
    }

    static func log(_ text: String) -> ReplicationLog? {
      let sessions: [(id: String, position: Value)] = text.split(separator: " ").map {
        let parts = $0.split(separator: ":")
        return (String(parts[0]), .string(String(parts[1])))
      }
      return ReplicationLog([
        "session_id": .string(sessions[0].id), "source_last_seq": sessions[0].position,
        "history": .array(
          sessions.map {
            .object(["session_id": .string($0.id), "recorded_seq": $0.position])
          }),
      ])
    }
  }

  static let comparisons = [
    Comparison("the same session", "A:s4 B:s2", "A:s4 B:s2", startsAt: "s4"),
    Comparison("the target lags", "A:s5 B:s3", "B:s3", startsAt: "s3"),
    Comparison("the source lags", "B:s3", "A:s5 B:s3", startsAt: "s3"),
    Comparison("other positions of a session", "A:s5 B:s4", "C:s2 B:s3", startsAt: "s4"),
    Comparison("no session in common", "A:s5 B:s3", "C:s4 D:s2", startsAt: nil),
    Comparison("no log in the target", "A:s5", nil, startsAt: nil),
    Comparison("no log in the source", nil, "A:s5", startsAt: nil),
    Comparison("an old session in common", "A:s6 B:s5 X:s2", "C:s6 D:s4 X:s2", startsAt: "s2"),
    Comparison("an older source session", "A:s6 B:s5 C:s3", "C:s2 D:s1", startsAt: "s2"),
  ]

  @Test(arguments: comparisons)
  func `a replication starts where CouchDB does`(_ comparison: Comparison) {
    let start = ReplicationLog.commonPosition(
      source: comparison.source.flatMap(Comparison.log),
      target: comparison.target.flatMap(Comparison.log))
    #expect(start == comparison.start.map { ReplicationPosition(.string($0)) })
  }

  @Test func `logs without history agree on their session`() {
    let log = ReplicationLog(["session_id": "Z", "source_last_seq": "s2", "history": []])
    #expect(log != nil)
    #expect(
      ReplicationLog.commonPosition(source: log, target: log) == ReplicationPosition("s2"))
  }

  /// CouchDB takes the source's position, and does not copy what the target lost.
  @Test func `the older of two logs of one session counts`() {
    func log(_ position: Value, checked: Int) -> ReplicationLog {
      var entry = ReplicationLog.Entry(sessionID: "A", position: ReplicationPosition(position))
      entry.counts.revisionsChecked = checked
      return ReplicationLog(entry)
    }
    let (older, newer) = (log("s3", checked: 300), log("s5", checked: 500))
    for (source, target) in [(older, newer), (newer, older)] {
      #expect(
        ReplicationLog.commonPosition(source: source, target: target)
          == ReplicationPosition("s3"))
    }
  }

  /// Both sides remember a session, and one of them was an older copy when it was recorded.
  @Test func `of an older session, too, the earlier position counts`() {
    func log(_ sessions: (id: String, position: Value, checked: Int)...) -> ReplicationLog? {
      let entries = sessions.map { session in
        var entry = ReplicationLog.Entry(
          sessionID: session.id, position: ReplicationPosition(session.position))
        entry.counts.revisionsChecked = session.checked
        return entry
      }
      var log = entries.first.map { ReplicationLog($0) }
      log?.history = entries
      return log
    }
    let (ahead, behind) = (
      log(("A", "s9", 900)), log(("B", "s8", 10), ("A", "s7", 700))
    )
    for (source, target) in [(ahead, behind), (behind, ahead)] {
      #expect(
        ReplicationLog.commonPosition(source: source, target: target)
          == ReplicationPosition("s7"))
    }
  }

  @Test func `a log is what its properties say`() throws {
    var entry = ReplicationLog.Entry(sessionID: "B", position: ReplicationPosition(12))
    entry.counts.revisionsWritten = 3
    entry.counts.revisionsFailed = 1
    (entry.begin, entry.end) = (1_700_000_000_000, 1_700_000_000_500)
    var log = ReplicationLog(.init(sessionID: "A", position: ReplicationPosition("7-x")))
    log.history.insert(entry, at: 0)
    let properties = log.properties
    #expect(ReplicationLog(properties) == log)
    #expect(properties["source_last_seq"] == "7-x")
    let first = try #require(properties["history"]?.arrayValue?.first?.objectValue)
    #expect(first["docs_written"] == 3 && first["doc_write_failures"] == 1)
    #expect(first["recorded_seq"] == 12 && first["session_id"] == "B")
  }

  @Test func `properties without a session are no log`() {
    #expect(ReplicationLog(["history": []]) == nil)
    #expect(ReplicationLog(["session_id": 1]) == nil)
    let log = ReplicationLog(["session_id": "A", "history": [1, ["session_id": "B"], [:]]])
    #expect(log?.history.map(\.sessionID) == ["B"])
    #expect(log?.position == nil)
  }
}
