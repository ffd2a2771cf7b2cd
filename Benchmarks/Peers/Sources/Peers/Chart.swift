import Foundation

/// Draws what each store needs for the work that applications do most, as bars in an SVG picture.
///
/// A panel for each measure has its own scale, because only bars of one measure are comparable.
struct Chart {
  /// All figures of a run; those of other measures and engines are not drawn.
  let figures: [Figure]
  /// The number of documents in the store.
  let count: Int

  private static let measures: [Measure] = [
    .commitMedian, .load, .readVerified, .readProperty, .scanID, .recordsLoad, .queryRange,
    .queryFilterUnknown,
  ]
  /// Bare files, and Divan a second time.
  private static let omitted = [
    AppendEngine.name, PreallocatedAppendEngine.name, BufferedDivanEngine.name,
  ]

  /// The stores by the names that their projects use.
  private static let titles = [
    DivanEngine.name: "Divan", GRDBEngine.name: "GRDB", LMDBEngine.name: "LMDB",
    RocksDBEngine.name: "RocksDB", PlainRocksDBEngine.name: "RocksDB, plain",
    SQLiteEngine.name: "SQLite", SQLiteColumnsEngine.name: "SQLite, columns",
  ]

  private static let width = 760
  private static let barStart = 150
  private static let barSpan = 480
  private static let rowHeight = 19
  private static let titleHeight = 34

  /// Writes the picture to a file.
  func write(to path: String) throws {
    try Data(svg.utf8).write(to: URL(fileURLWithPath: path))
  }

  /// The picture as SVG.
  var svg: String {
    let documents = count.formatted(.number.locale(Locale(identifier: "en")))
    var y = 34
    var body = text(
      "Divan and other stores, \(documents) documents: less is better", x: 14, y: 24,
      style: "font-weight:bold;font-size:15px")
    for measure in Self.measures {
      let rows = figures.filter { $0.measure == measure && !Self.omitted.contains($0.engine) }
      // A store alone is no comparison.
      guard rows.count > 1, let greatest = rows.map(\.median).max(), greatest > 0 else { continue }
      body += text("\(measure.title), \(measure.unit)", x: 14, y: y + 23, style: "fill:#444444")
      y += Self.titleHeight
      for row in rows.sorted(by: { $0.median < $1.median }) {
        body += bar(row, y: y, greatest: greatest)
        y += Self.rowHeight
      }
    }
    let height = y + 14
    return """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(Self.width)" height="\(height)" \
      viewBox="0 0 \(Self.width) \(height)" font-family="sans-serif" font-size="12" role="img" \
      aria-label="Costs of Divan and of other stores">
      <rect width="100%" height="100%" rx="6" fill="#ffffff"/>
      \(body)</svg>

      """
  }

  private func bar(_ row: Figure, y: Int, greatest: Double) -> String {
    let isDivan = row.engine == DivanEngine.name
    let length = max(1, Int(row.median / greatest * Double(Self.barSpan)))
    let style = isDivan ? "font-weight:bold" : ""
    return text(Self.titles[row.engine] ?? row.engine, x: 24, y: y + 13, style: style)
      + """
      <rect x="\(Self.barStart)" y="\(y + 2)" width="\(length)" height="14" rx="2" \
      fill="\(isDivan ? "#1f6f8b" : "#b9c4c9")"/>

      """
      + text(
        Report.number(row.median), x: Self.barStart + length + 6, y: y + 13, style: style)
  }

  private func text(_ text: String, x: Int, y: Int, style: String) -> String {
    "<text x=\"\(x)\" y=\"\(y)\" style=\"\(style)\">\(text)</text>\n"
  }
}
