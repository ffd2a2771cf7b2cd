import Foundation

/// Prints the figures as tables.
enum Report {
  /// Prints one table for each measure of the workload, with a line for each engine.
  static func print(_ workload: Workload, _ figures: [Figure]) {
    for measure in Measure.allCases where measure.workload == workload {
      let rows = figures.filter { $0.measure == measure }
      guard !rows.isEmpty else { continue }
      Swift.print("\n\(measure.title)")
      let divan = rows.first { $0.engine == DivanEngine.name }
      for row in rows {
        var line = "  " + padded(row.engine, 16) + padded(left: number(row.median), 10)
        line += " " + padded(measure.unit, 15)
        line += padded(row.spread.map { "±\(number($0 * 100)) %" } ?? "", 10)
        line += padded("best \(number(row.best))", 12) + padded("n=\(row.samples.count)", 6)
        if row.engine != DivanEngine.name {
          line += "divan/peer " + (divan.map { number($0.median / row.median) } ?? "—")
        }
        Swift.print(line)
      }
    }
    // Shown immediately, also through a pipe.
    fflush(nil)
  }

  /// Warns if the machine is so busy that other work would distort the figures.
  ///
  /// Once all processors are busy, a process that waited for a flush is woken only at the
  /// scheduler's next tick, and every durable commit takes several milliseconds.
  static func warnWhenBusy() {
    var averages = [0.0]
    let processors = Double(ProcessInfo.processInfo.activeProcessorCount)
    guard getloadavg(&averages, 1) == 1, averages[0] > processors / 2 else { return }
    warn(
      "load average \(number(averages[0])) on \(number(processors)) processors: commits will be slow"
    )
  }

  /// Prints the goals of the design, with the peers' figures of this run.
  static func printGoals(_ figures: [Figure]) {
    func median(_ engine: String, _ measure: Measure) -> Double? {
      figures.first { $0.engine == engine && $0.measure == measure }?.median
    }
    Swift.print("\nGoals: Divan's figure ÷ the peer's, and what it may be at most")
    let measured = Set(figures.map(\.measure.workload))
    for goal in Goal.all where measured.contains(goal.measure.workload) {
      let peer = goal.peer.map { median($0.engine, $0.measure) } ?? 1
      guard let peer else { continue }
      let divan = median(goal.engine, goal.measure)
      let bound = goal.ratio * peer
      let relation = goal.isFloor ? "≥" : "≤"
      var line = "  " + padded(goal.title, 62)
      line += padded("\(relation) \(number(bound)) \(goal.measure.unit)", 26)
      if let divan {
        let isMet = goal.isFloor ? divan >= bound : divan <= bound
        line += "\(number(divan)) \(isMet ? "met" : "MISSED")"
      } else {
        line += "—"
      }
      Swift.print(line)
    }
  }

  /// Writes every sample, for other programs.
  static func writeJSON(_ figures: [Figure], _ options: Options, to path: String) throws {
    struct Document: Encodable {
      struct Row: Encodable {
        var engine, measure, title, unit: String
        var median: Double
        var samples: [Double]
      }
      var count: Int
      var seed: UInt64
      var figures: [Row]
    }
    let rows = figures.map {
      Document.Row(
        engine: $0.engine, measure: $0.measure.rawValue, title: $0.measure.title,
        unit: $0.measure.unit, median: $0.median, samples: $0.samples)
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let document = Document(count: options.count, seed: options.seed, figures: rows)
    try encoder.encode(document).write(to: URL(fileURLWithPath: path))
  }

  /// Returns about three significant digits.
  static func number(_ value: Double) -> String {
    let digits = abs(value) >= 100 ? 0 : abs(value) >= 10 ? 1 : 2
    return String(format: "%.\(digits)f", value)
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private static func padded(left text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }
}
