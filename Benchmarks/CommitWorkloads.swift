import Divan
import DivanLog

extension Workload {
  /// Durable commits of one document, and the costs that the system imposes.
  static let committing = [
    Workload(
      name: "commit", title: "one durable commit, median", unit: .microsecondsPerCommit,
      prepare: { try $0.load("commit") }
    ) { bench in
      let database = try bench.open("commit")
      let documents = newDocuments(commitCount, bench, group: 0)
      let times = try documents.map { document in
        try seconds { try database.write { _ = try $0.put(document) } } * 1e6
      }
      try database.close()
      return times.quantile(0.5)
    },
    Workload(
      name: "commit-append", title: "a bare append and flush of the same size, median",
      unit: .microsecondsPerCommit
    ) { bench in
      let file = try BareFile(bench)
      let times = try (0..<commitCount).map { _ in try seconds { try file.append() } * 1e6 }
      try file.remove()
      return times.quantile(0.5)
    },
    Workload(
      name: "commit-ratio", title: "a durable commit ÷ a bare append, measured alternately",
      unit: .times, prepare: { try $0.load("commit-ratio") }
    ) { bench in
      let database = try bench.open("commit-ratio")
      let file = try BareFile(bench)
      var commits: [Double] = []
      var appends: [Double] = []
      for document in newDocuments(commitCount, bench, group: 3) {
        commits.append(try seconds { try database.write { _ = try $0.put(document) } })
        appends.append(try seconds { try file.append() })
      }
      try file.remove()
      try database.close()
      return commits.quantile(0.5) / appends.quantile(0.5)
    },
    Workload(
      name: "commit-threads", title: "durable commits from 8 threads at the same time",
      unit: .microsecondsPerCommit, prepare: { try $0.load("commit-threads") }
    ) { bench in
      let database = try bench.open("commit-threads")
      let documents = newDocuments(threadCount * commitCount / 2, bench, group: 1)
      let share = documents.count / threadCount
      let elapsed = try seconds {
        try runThreads(threadCount) { thread in
          for document in documents[thread * share..<(thread + 1) * share] {
            try database.write { _ = try $0.put(document) }
          }
        }
      }
      try database.close()
      return elapsed * 1e6 / Double(documents.count)
    },
    Workload(
      name: "commit-relaxed", title: "one commit without waiting for a flush",
      unit: .microsecondsPerCommit, prepare: { try $0.load("commit-relaxed") }
    ) { bench in
      let database = try bench.open("commit-relaxed", .none)
      let documents = newDocuments(10 * commitCount, bench, group: 2)
      let elapsed = try seconds {
        for document in documents { try database.write { _ = try $0.put(document) } }
      }
      try database.close()
      return elapsed * 1e6 / Double(documents.count)
    },
  ]

  private static let commitCount = 200
  private static let threadCount = 8

  /// Returns documents that no store has; the warm-up, with repetition -1, has its own, too.
  private static func newDocuments(_ count: Int, _ bench: Bench, group: Int) -> [Document] {
    let first = bench.count + (group * 1000 + bench.repetition + 1) * 10_000
    return bench.samples.documents(first..<first + count)
  }
}

/// A file to which as many bytes are appended as a commit of one document adds to the log.
private final class BareFile {
  private let system = POSIXFileSystem()
  private let file: any OpenFile
  private let bytes: SharedBytes
  private var end = 0

  init(_ bench: Bench) throws {
    let path = bench.directory + "/append"
    if try system.exists(path) { try system.remove(path) }
    file = try system.open(path, .creating)
    let size = Samples.size(bench.samples.document(0))
    bytes = SharedBytes(copying: [UInt8](repeating: 0x5A, count: size))
  }

  func append() throws {
    try file.write(bytes, at: end)
    try file.flush()
    end += bytes.count
  }

  func remove() throws {
    try file.close()
    try system.remove(file.path)
  }
}
