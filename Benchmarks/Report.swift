#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Shows figures as a table and as JSON.
enum Report {
  /// Returns one line for a figure.
  static func line(_ figure: Figure) -> String {
    let spread = figure.spread.map { "±\(shortText($0 * 100)) %" } ?? ""
    return padded(figure.name, nameWidth) + padded(left: shortText(figure.median), 10) + " "
      + padded(figure.unit.rawValue, 15) + padded(spread, 11) + figure.title
  }

  /// Returns one line for a workload that is only listed.
  static func line(_ workload: Workload) -> String {
    padded(workload.name, nameWidth) + padded(workload.unit.rawValue, 15) + workload.title
  }

  /// Returns the text above the lines.
  static func heading(_ options: Options) -> String {
    "\(options.count) documents, "
      + (options.secondLimit == nil ? "" : "up to ") + "\(options.repetitions) samples each: "
      + "median, and half the distance between the quartiles\n"
  }

  /// Writes every sample, for other programs.
  static func writeJSON(_ figures: [Figure], _ options: Options, to path: String) throws {
    struct Run: Encodable {
      var count: Int
      var figures: [Figure]
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let run = Run(count: options.count, figures: figures)
    try encoder.encode(run).write(to: URL(filePath: path))
  }

  /// The length of the longest name, plus two spaces to separate the columns.
  private static let nameWidth = (Workload.all.map(\.name.count).max() ?? 0) + 2

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private static func padded(left text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }
}
