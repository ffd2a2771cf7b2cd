import Divan

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The unit of a workload's figures.
enum Unit: String, Codable, Sendable {
  case microsecondsPerDocument = "µs/document"
  case nanosecondsPerDocument = "ns/document"
  case microsecondsPerCommit = "µs/commit"
  case nanoseconds = "ns"
  case milliseconds = "ms"
  case bytesPerDocument = "bytes/document"
  case megabytes = "MB"
  case millisecondsPerMegabyte = "ms/MB"
  /// A ratio.
  case times = "×"
}

/// The measurements of one workload: one sample of each repetition.
struct Figure: Codable, Sendable {
  /// The workload's name.
  var name: String
  /// A description of the workload.
  var title: String
  /// The unit of the samples.
  var unit: Unit
  /// The samples in the order in which they were taken.
  var samples: [Double]

  /// The median of the samples.
  var median: Double { samples.quantile(0.5) }

  /// Half the distance between the quartiles as a share of the median; nil below three samples.
  var spread: Double? {
    guard samples.count >= 3, median != 0 else { return nil }
    return (samples.quantile(0.75) - samples.quantile(0.25)) / 2 / median
  }
}

extension [Double] {
  /// Returns the value below which a share of the values lies, interpolated; 0 if there are none.
  func quantile(_ share: Double) -> Double {
    let sorted = self.sorted()
    guard let last = sorted.indices.last else { return 0 }
    let position = share * Double(last)
    let lower = Int(position)
    let upper = Swift.min(lower + 1, last)
    return sorted[lower] + (sorted[upper] - sorted[lower]) * (position - Double(lower))
  }
}

/// Returns the seconds that `body` takes.
func seconds(_ body: () throws -> Void) rethrows -> Double {
  let elapsed = try ContinuousClock().measure(body).components
  return Double(elapsed.seconds) + Double(elapsed.attoseconds) * 1e-18
}

/// Returns the anonymous memory of this process in bytes; nil if the system does not provide it.
///
/// Anonymous memory is not available to other processes.
func anonymousMemory() -> Double? {
  guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else {
    return nil
  }
  for line in status.split(separator: "\n") where line.hasPrefix("RssAnon:") {
    return line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) }
      .map { $0 * 1024 }
  }
  return nil
}

/// The peak of anonymous memory beyond the amount at the beginning.
struct GreatestMemory {
  private let before = anonymousMemory()
  private var greatest = 0.0
  private var lookCount = 0

  /// Begins with the current amount.
  init() {}

  /// Reads the memory once in `interval` calls, because reading costs time.
  mutating func look(oneTimeIn interval: Int = 16) {
    lookCount += 1
    guard lookCount % interval == 0 else { return }
    greatest = max(greatest, anonymousMemory() ?? 0)
  }

  /// Returns the growth since the beginning in bytes.
  func growth() throws -> Double {
    guard let before else {
      throw BenchmarkError("this system does not report the size of anonymous memory")
    }
    return max(0, greatest - before)
  }
}

/// Returns a number with three significant digits.
func shortText(_ number: Double) -> String {
  let digits = abs(number) >= 100 ? 0 : abs(number) >= 10 ? 1 : 2
  let scale = [1.0, 10, 100][digits]
  guard let scaled = Int(exactly: (number * scale).rounded()) else { return "\(number)" }
  guard digits > 0 else { return "\(scaled)" }
  let text = String(abs(scaled))
  let padded = String(repeating: "0", count: max(0, digits + 1 - text.count)) + text
  return (scaled < 0 ? "-" : "") + padded.dropLast(digits) + "." + padded.suffix(digits)
}

/// A failure that ends one workload, not the run.
struct BenchmarkError: Error, CustomStringConvertible {
  /// A description of the failure.
  var description: String

  /// Creates a failure.
  init(_ description: String) { self.description = description }
}
