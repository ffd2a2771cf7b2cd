import Divan
import DivanTesting
import Foundation
import ProofKit
import TestSupport
import Testing

/// Tests that run the code examples of the guide about events and metrics, and that of servers.
struct MonitoringGuideTests {
  @Test func `events of a level go to the standard error stream`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Notes.divan"
    var configuration = Configuration()
    configuration.eventHandler = .standardError(from: .notice)
    configuration.slowQueryThreshold = .milliseconds(250)
    let database = try Database(at: path, configuration: configuration)
    try database.close()
  }

  @Test func `a handler acts on some kinds of events`() throws {
    let reports = Recorder<String>()
    @Sendable func report(_ message: String, _ error: (any Error)?) { reports.append(message) }
    let directory = try TemporaryDirectory()
    var configuration = Configuration()
    configuration.slowQueryThreshold = .zero
    configuration.eventHandler = DatabaseEvent.Handler { event in
      switch event.kind {
      case .slowQuery:
        guard let query = event.query else { return }
        print(event.message, query.text, query.plan)
      case .maintenanceFailed, .damageFound, .writingStopped, .autosaveFailed:
        report(event.message, event.error)
      case .recovered: report(event.message, nil)
      default: break
      }
    }
    let path = directory.path + "/Notes.divan"
    var database = try Database(at: path, configuration: configuration)
    try database.write { try $0.put(Document(id: "tea", ["text": "green"])) }
    #expect(try database.snapshot().count(Query<Document>()) == 1)
    try database.close()
    #expect(reports.all.isEmpty)

    let segment = directory.path + "/Notes.divan/0000000001.segment"
    var bytes = try Data(contentsOf: URL(filePath: segment))
    let place = try #require(bytes.firstRange(of: Data("green".utf8)))
    bytes[place.lowerBound] ^= 1
    try bytes.write(to: URL(filePath: segment))
    configuration.damage = .salvage
    database = try Database(at: path, configuration: configuration)
    try database.close()
    #expect(reports.all.contains { $0.hasPrefix("Damage was found") })
  }

  @Test func `a handler alerts of urgent kinds of events`() throws {
    let alerts = Recorder<String>()
    @Sendable func alert(_ message: String) { alerts.append(message) }
    let disk = SimulatedDisk(seed: 1)
    var configuration = disk.configuration()
    let urgent: Set<DatabaseEvent.Kind> = [.damageFound, .writingStopped]
    configuration.eventHandler = DatabaseEvent.Handler { event in
      if urgent.contains(event.kind) { alert(event.message) }
    }
    let database = try Database(at: "/Notes.divan", configuration: configuration)
    try database.write { try $0.put(Document(id: "tea")) }
    disk.fail(.flush, with: .inputOutput, isLasting: true)
    #expect(throws: DatabaseError.self) {
      try database.write { _ = try $0.put(Document(id: "milk")) }
    }
    #expect(throws: DatabaseError.self) { try database.close() }
    #expect(alerts.all.count == 1 && alerts.all.allSatisfy { $0.hasPrefix("Writing stopped") })
  }

  @Test func `events have the details of maintenance and of slow transactions`() throws {
    let printed = Recorder<String>()
    @Sendable func print(_ text: String) { printed.append(text) }
    var configuration = SimulatedDisk(seed: 1).configuration()
    configuration.slowCommitThreshold = .zero
    configuration.eventHandler = DatabaseEvent.Handler { event in
      if let checkpoint = event.checkpoint {
        print("Commit \(checkpoint.commit) is in a checkpoint of \(checkpoint.size) bytes")
      }
      if let compaction = event.compaction {
        print("Compaction freed \(compaction.sizeBefore - compaction.sizeAfter) bytes")
      }
      if let commit = event.commit {
        print("Waited \(commit.lockWait) for others and \(commit.flushWait) for the flush")
      }
    }
    let database = try Database(at: "/Notes.divan", configuration: configuration)
    let text = Value.string(String(repeating: "x", count: 600))
    for number in 0..<40 as Range<Int64> {
      try database.write { _ = try $0.replace("tea", with: ["text": text, "n": .int(number)]) }
    }
    try database.compact()
    try database.close()
    for beginning in ["Commit ", "Compaction freed ", "Waited "] {
      #expect(printed.all.contains { $0.hasPrefix(beginning) }, "\(beginning)")
    }
  }

  @Test func `a difference of metrics says what some work has cost`() throws {
    let database = try Database.inMemory()
    func work() throws {
      for id in ["a", "b"] { try database.write { try $0.put(Document(id: id)) } }
    }
    let before = database.metrics
    try work()
    let delta = database.metrics.delta(since: before)
    print(
      "\(delta.commits) commits, \(delta.appendedBytes) bytes, \(delta.flushSeconds) s flushing")
    #expect(delta.commits == 2 && delta.storedRevisions == 2 && delta.appendedBytes > 100)
  }

  func prometheusText(_ metrics: DatabaseMetrics) -> String {
    metrics.samples.map { sample in
      let words = sample.name.map { $0.isUppercase ? "_\($0.lowercased())" : "\($0)" }.joined()
      let name = "divan_" + words + (sample.isCounter ? "_total" : "")
      let type = sample.isCounter ? "counter" : "gauge"
      return "# TYPE \(name) \(type)\n\(name) \(sample.text)\n"
    }.joined()
  }

  @Test func `metrics have the text format of Prometheus`() throws {
    let database = try Database.inMemory()
    try database.write { try $0.put(Document(id: "a")) }
    let metrics = database.metrics
    let text = prometheusText(metrics)
    #expect(text.contains("# TYPE divan_commits_total counter\ndivan_commits_total 1\n"))
    #expect(text.contains("\ndivan_appended_bytes_total \(metrics.appendedBytes)\n"))
    #expect(text.contains("# TYPE divan_log_bytes gauge\ndivan_log_bytes \(metrics.logBytes)\n"))
    let lines = text.split(separator: "\n")
    #expect(lines.count == 2 * metrics.samples.count)
    for line in lines {
      let pattern = /# TYPE divan_[a-z_]+ (counter|gauge)|divan_[a-z_]+ [0-9.e-]+/
      #expect(try pattern.wholeMatch(in: line) != nil, "\(line)")
    }
  }
}
