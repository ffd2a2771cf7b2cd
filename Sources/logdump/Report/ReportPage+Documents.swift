import Divan
import DivanLog

// The sections on documents, attachments, indexes and views.

extension ReportPage {
  mutating func addDocuments() {
    let sizes = contents.documents.sizes
    section(
      "documents", "Documents",
      sizes.count == 0
        ? "There are no documents."
        : "\(count(sizes.count, "document")) with \(readableSize(sizes.total)) in their newest "
          + "records; half of them take at most \(readableSize(sizes.medianLimit)) each."
    ) { page in
      guard sizes.count > 0 else { return }
      let most = UInt64(sizes.bars.map(\.count).max() ?? 0)
      page.html.addTable(
        caption: "Documents by size of their newest record",
        heads: [.text("Up to"), .number("Documents"), .chart("")],
        rows: sizes.bars.map { bar in
          let limit = readableSize(bar.limit)
          return [
            limit, grouped(bar.count),
            ReportChart.bar(
              "\(grouped(bar.count)) documents of at most \(limit)",
              [
                ReportChart.Part(
                  size: UInt64(bar.count), style: "documents",
                  title: page.count(bar.count, "document"))
              ], of: most),
          ]
        })
      let largest = page.contents.documents.largest.elements
      let longest = UInt64(largest.first?.size ?? 0)
      page.html.addTable(
        caption: "The largest documents, without attachments and older revisions",
        heads: [
          .name("ID"), .number("Size"), .number("Generation"), .file("Segment"), .smallChart,
        ],
        rows: largest.map { document in
          [
            HTMLText.name(document.id), readableSize(document.size), grouped(document.generation),
            HTMLText.escaped(document.segment),
            ReportChart.bar(
              "\(grouped(document.size)) bytes",
              [
                ReportChart.Part(
                  size: UInt64(document.size), style: "documents",
                  title: "\(grouped(document.size)) bytes")
              ], of: longest),
          ]
        })
    }
  }

  mutating func addAttachments() {
    let use = contents.attachments
    section(
      "attachments", "Attachments",
      use.inLog.count + use.inFiles.count == 0
        ? "There are no attachments."
        : "Each content is stored once: \(grouped(use.inLog.count)) in the log with "
          + "\(readableSize(use.inLog.size)), and \(grouped(use.inFiles.count)) in files with "
          + "\(readableSize(use.inFiles.size))."
    ) { page in
      let largest = use.largest.elements
      guard let longest = largest.first.map({ UInt64($0.length) }) else { return }
      page.html.addTable(
        caption: "The largest attachments",
        heads: [
          .name("Name"), .text("Type"), .number("Size"), .text("Where"), .number("Documents"),
          .name("One of them"), .chart(""),
        ],
        rows: zip(largest, use.references).map { content, references in
          let first = references.first
          return [
            first?.name.map(HTMLText.name) ?? HTMLText.name(String("\(content.digest)".prefix(16))),
            first?.contentType.map(HTMLText.name) ?? "", readableSize(content.length),
            (content.isFile ? "file" : "log") + (content.damage == nil ? "" : ", damaged"),
            grouped(references.documentCount),
            first.map { HTMLText.name($0.documentID) } ?? "none any more",
            ReportChart.bar(
              "\(grouped(content.length)) bytes",
              [
                ReportChart.Part(
                  size: UInt64(content.length), style: "attachments",
                  title: "\(content.digest): \(grouped(content.length)) bytes")
              ], of: longest),
          ]
        })
    }
  }

  // MARK: Indexes

  mutating func addIndexes() {
    let indexes = contents.indexes
    section(
      "indexes", "Indexes",
      indexes.isEmpty
        ? "There are no indexes."
        : "Selectivity is the share of distinct values: at 100 % each value leads to one entry, "
          + "and near 0 % a value leads to many. The values of a full-text index are words."
    ) { page in
      if !indexes.isEmpty {
        let shown = indexes.prefix(ReportContents.rowLimit * 3)
        page.html.addTable(
          caption: "Indexes of documents",
          heads: [
            .name("Name"), .name("Properties"), .number("Entries"), .number("Distinct"),
            .number("Size"), .number("Selectivity"), .smallChart,
          ],
          rows: shown.map { measure in
            let share = readableShare(measure.distinctCount, of: measure.entryCount)
            return [
              HTMLText.name(measure.index.name), HTMLText.name(page.words(for: measure.index)),
              grouped(measure.entryCount), grouped(measure.distinctCount),
              readableSize(measure.size), HTMLText.escaped(share),
              ReportChart.bar(
                "Selectivity of \(measure.index.name): \(share)",
                [
                  ReportChart.Part(
                    size: UInt64(measure.distinctCount), style: "documents",
                    title: "\(grouped(measure.distinctCount)) distinct values")
                ], of: UInt64(measure.entryCount)),
            ]
          }, footer: page.omitted(indexes.count - shown.count, "index"))
      }
      page.addViews()
    }
  }

  private func words(for index: DocumentIndex) -> String {
    var text = index.paths.map { $0.joined(separator: " / ") }.joined(separator: ", ")
    if let options = index.fullText {
      text = "full text of " + text
      for trait in options.traits { text += "; " + trait }
    }
    if index.isUnique { text += "; unique" }
    if index.eachElement { text += "; each element" }
    if !index.conditions.isEmpty {
      text += "; where " + index.conditions.map(\.description).joined(separator: " and ")
    }
    return text
  }

  private mutating func addViews() {
    let shown = contents.views.prefix(ReportContents.rowLimit)
    guard !shown.isEmpty else { return }
    html.addTable(
      caption: "Views whose rows are saved",
      heads: [.name("Name"), .name("Version"), .number("Rows"), .number("Size")],
      rows: shown.map {
        [
          HTMLText.name($0.name), HTMLText.name($0.version), grouped($0.rowCount),
          readableSize($0.size),
        ]
      }, footer: omitted(contents.views.count - shown.count, "view"))
  }
}
