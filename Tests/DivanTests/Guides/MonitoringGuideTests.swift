import Divan
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
