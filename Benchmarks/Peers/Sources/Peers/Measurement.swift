import Foundation

/// The measure of one row of the report.
enum Measure: String, CaseIterable, Codable {
  case load, diskLoaded, memoryLoaded, memoryRead
  case readValue, readVerified, readProperty
  case scanID, scanSequence
  case openClean, openKilled, memoryOpened
  case commitMedian, commit99, commitThreads, commitSpeedup
  case overwrite, diskOverwriteMaximum, diskOverwriteFinal
  case recordsInsert, recordsLoad, recordsLoadByID
  case indexBuild, indexBuildElements, queryEqual, queryRange, queryElement, queryCount
  case queryFilterUnknown, queryFilterFirst, queryFilter, queryFindFirst, queryFind
  case textBuild, textSize, textWord, textBoth, textPhrase, textPrefix, textTop, textUpdate
}

extension Measure {
  /// The row's title.
  var title: String {
    switch self {
    case .load: "bulk load, random key order, 1,000 a transaction, one flush at the end"
    case .diskLoaded: "bytes on disk after the load ÷ JSON with _id and _rev"
    case .memoryLoaded: "growth of anonymous memory after the load, per document"
    case .memoryRead: "the same after the load and reading everything"
    case .readValue: "random read of a document by ID, bare"
    case .readVerified: "random read of a document by ID, with CRC-32C of the value"
    case .readProperty: "random read of a document and one property by ID"
    case .scanID: "scan in ID order, one property each"
    case .scanSequence: "scan in the order of writing, one property each"
    case .openClean: "open and first read, closed cleanly"
    case .openKilled: "open and first read, after kill -9 while writing"
    case .memoryOpened: "growth of anonymous memory, just opened"
    case .commitMedian: "one durable commit, median"
    case .commit99: "one durable commit, 99th percentile"
    case .commitThreads: "durable commits from 8 threads"
    case .commitSpeedup: "rate of 8 threads ÷ rate of one (higher is better)"
    case .overwrite: "steady random overwriting, 1,000 a transaction"
    case .diskOverwriteMaximum: "most bytes on disk while overwriting ÷ live bytes"
    case .diskOverwriteFinal: "bytes on disk afterwards ÷ live bytes"
    case .recordsInsert: "insert 100 k records in one durable transaction"
    case .recordsLoad: "load all 100 k records, one property each"
    case .recordsLoadByID: "load records one by one by ID, one property each"
    case .indexBuild: "making an index of texts nearly all different"
    case .indexBuildElements: "making an index of the elements of an array"
    case .queryEqual: "the document of a value in an index, one property"
    case .queryRange: "100 documents in the order of an index, one property each"
    case .queryElement: "100 documents that have an element in an array, one property each"
    case .queryCount: "count of a range of an index, per entry"
    case .queryFilterUnknown:
      "count of a filter for properties that no query has looked at yet, per document"
    case .queryFilterFirst: "count of another filter for the same properties, the first time"
    case .queryFilter: "the same count asked again"
    case .queryFindFirst:
      "what a filter for them finds, one property each, the first time"
    case .queryFind: "the same asked again"
    case .textBuild: "building a full-text index"
    case .textSize: "growth on disk by the full-text index"
    case .textWord: "count of a rare word"
    case .textBoth: "count of two words"
    case .textPhrase: "count of a phrase of frequent words"
    case .textPrefix: "count of a prefix of four letters"
    case .textTop: "the ten most relevant of the documents with a frequent word"
    case .textUpdate: "update of one document and the full-text index"
    }
  }

  /// The unit of the figures.
  var unit: String {
    switch self {
    case .load, .overwrite, .indexBuild, .indexBuildElements, .textBuild: "µs/document"
    case .textWord, .textBoth, .textPhrase, .textPrefix: "µs/query"
    case .textTop: "ms/query"
    case .textUpdate: "µs/commit"
    case .textSize: "bytes/document"
    case .queryEqual, .queryRange, .queryElement: "µs/query"
    case .queryCount: "ns/entry"
    case .commitMedian, .commit99, .commitThreads: "µs/commit"
    case .recordsInsert, .recordsLoad, .recordsLoadByID: "µs/record"
    case .readValue, .readVerified, .readProperty, .scanID, .scanSequence, .queryFilterUnknown,
      .queryFilterFirst, .queryFilter, .queryFindFirst, .queryFind:
      "ns/document"
    case .openClean, .openKilled: "ms"
    case .memoryLoaded, .memoryRead: "bytes/document"
    case .memoryOpened: "MB"
    case .commitSpeedup, .diskLoaded, .diskOverwriteMaximum, .diskOverwriteFinal: "×"
    }
  }

  /// The workload that yields the figures.
  var workload: Workload {
    switch self {
    case .load, .diskLoaded, .memoryLoaded, .memoryRead: .load
    case .readValue, .readVerified, .readProperty: .read
    case .scanID, .scanSequence: .scan
    case .openClean, .openKilled, .memoryOpened: .open
    case .commitMedian, .commit99, .commitThreads, .commitSpeedup: .commit
    case .overwrite, .diskOverwriteMaximum, .diskOverwriteFinal: .overwrite
    case .recordsInsert, .recordsLoad, .recordsLoadByID: .records
    case .indexBuild, .indexBuildElements, .queryEqual, .queryRange, .queryElement, .queryCount,
      .queryFilterUnknown, .queryFilterFirst, .queryFilter, .queryFindFirst, .queryFind:
      .query
    case .textBuild, .textSize, .textWord, .textBoth, .textPhrase, .textPrefix, .textTop,
      .textUpdate:
      .text
    }
  }

  static func read(_ kind: ReadKind) -> Measure {
    switch kind {
    case .value: .readValue
    case .verifiedValue: .readVerified
    case .property: .readProperty
    }
  }

  static func scan(_ order: ScanOrder) -> Measure {
    order == .id ? .scanID : .scanSequence
  }
}

/// One measured value, as a child process reports it.
struct Sample: Codable {
  var measure: Measure
  var value: Double
}

/// All samples of one engine for one measure.
struct Figure: Codable {
  var engine: String
  var measure: Measure
  var samples: [Double]

  var median: Double { samples.percentile(0.5) }

  /// The sample that other work on the machine disturbed least.
  var best: Double { (measure == .commitSpeedup ? samples.max() : samples.min()) ?? 0 }

  /// Half the distance between the quartiles, as a share of the median; nil below three samples.
  var spread: Double? {
    guard samples.count >= 3, median != 0 else { return nil }
    return (samples.percentile(0.75) - samples.percentile(0.25)) / 2 / median
  }
}

extension [Double] {
  /// The value below which the given share of the values lies, interpolated; 0 when empty.
  func percentile(_ share: Double) -> Double {
    guard let last = indices.last else { return 0 }
    let sorted = self.sorted()
    let position = share * Double(last)
    let lower = Int(position)
    let upper = Swift.min(lower + 1, last)
    return sorted[lower] + (sorted[upper] - sorted[lower]) * (position - Double(lower))
  }
}

/// Returns the seconds that `body` took.
func seconds(_ body: () throws -> Void) rethrows -> Double {
  let elapsed = try ContinuousClock().measure(body)
  return Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) * 1e-18
}

/// Returns the anonymous memory of this process in bytes; nil if the system does not provide it.
func anonymousMemory() -> Double? {
  guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else {
    return nil
  }
  for line in status.split(separator: "\n") where line.hasPrefix("RssAnon:") {
    return line.split(separator: " ").dropFirst().first.flatMap { Double($0) }.map { $0 * 1024 }
  }
  return nil
}

/// Returns the bytes that a directory occupies, in blocks because a mapped store may be sparse.
func bytesOnDisk(_ directory: String) -> Double {
  var total = 0.0
  guard let paths = FileManager.default.enumerator(atPath: directory) else { return 0 }
  for case let path as String in paths {
    var status = stat()
    // A file may vanish while a store cleans up.
    if lstat(directory + "/" + path, &status) == 0 { total += Double(status.st_blocks) * 512 }
  }
  return total
}
