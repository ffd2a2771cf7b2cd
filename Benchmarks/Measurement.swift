import Divan

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What a workload's figures count.
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

/// What was measured of one workload: one sample of each repetition.
struct Figure: Codable, Sendable {
  /// The workload's name.
  var name: String
  /// What the workload does.
  var title: String
  /// What the samples count.
  var unit: Unit
  /// In the order in which they were taken.
  var samples: [Double]

  /// The middle one of the samples.
  var median: Double { samples.quantile(0.5) }

  /// Half the distance between the quartiles as a share of the median; nil below three samples.
  var spread: Double? {
    guard samples.count >= 3, median != 0 else { return nil }
    return (samples.quantile(0.75) - samples.quantile(0.25)) / 2 / median
  }
}

extension [Double] {
  /// The value below which a share of the values lies, interpolated; 0 if there are none.
  func quantile(_ share: Double) -> Double {
    let sorted = self.sorted()
    guard let last = sorted.indices.last else { return 0 }
    let position = share * Double(last)
    let lower = Int(position)
    let upper = Swift.min(lower + 1, last)
    return sorted[lower] + (sorted[upper] - sorted[lower]) * (position - Double(lower))
  }
}

/// The seconds that `body` takes.
func seconds(_ body: () throws -> Void) rethrows -> Double {
  let elapsed = try ContinuousClock().measure(body).components
  return Double(elapsed.seconds) + Double(elapsed.attoseconds) * 1e-18
}

/// The anonymous memory of this process in bytes, which is what it keeps from others; nil where the
/// system does not tell.
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

/// The most anonymous memory that was seen, beyond what there was at the beginning.
struct GreatestMemory {
  private let before = anonymousMemory()
  private var greatest = 0.0
  private var lookCount = 0

  /// Begins with what there is.
  init() {}

  /// Looks one time in so many, since looking costs something.
  mutating func look(oneTimeIn interval: Int = 16) {
    lookCount += 1
    guard lookCount % interval == 0 else { return }
    greatest = max(greatest, anonymousMemory() ?? 0)
  }

  /// How much more there was than at the beginning, in bytes.
  func growth() throws -> Double {
    guard let before else {
      throw BenchmarkError("this system does not tell how much memory is anonymous")
    }
    return max(0, greatest - before)
  }
}

/// A number with three digits that count.
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
  /// What happened.
  var description: String

  /// Makes a failure.
  init(_ description: String) { self.description = description }
}
