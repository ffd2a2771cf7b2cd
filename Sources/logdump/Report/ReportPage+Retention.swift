import Divan
import DivanLog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The section on what keeps space.

extension ReportPage {
  mutating func addRetention() {
    section(
      "retention", "What keeps space",
      "Every byte of the segments, by what it is used for, and how to release it."
    ) { page in
      let uses = page.contents.uses
      let total = uses.values.reduce(0) { $0 + $1.size }
      let rows = SpaceUse.allCases.compactMap { use in
        uses[use].map { amount in
          [
            HTMLText.escaped(use.title), amount.count > 0 ? grouped(amount.count) : "",
            readableSize(amount.size),
            HTMLText.escaped(readableShare(amount.size, of: total)),
            ReportChart.bar(
              "\(use.title): \(readableShare(amount.size, of: total))",
              [
                ReportChart.Part(
                  size: amount.size, style: use.style, title: "\(grouped(amount.size)) bytes")
              ], of: total), HTMLText.escaped(use.advice),
          ]
        }
      }
      if !rows.isEmpty {
        page.html.addTable(
          caption: "Uses of the bytes in segments",
          heads: [
            .text("Use"), .number("Records"), .number("Size"), .number("Share"),
            .smallChart, .text("How to release it"),
          ], rows: rows)
      }
      page.addSnapshots()
      page.html.add("p", "class=\"note\"", text: page.otherReasons)
    }
  }

  private var otherReasons: String {
    var text = ""
    let horizon = contents.historyHorizon
    if contents.uses[.history] != nil {
      text +=
        horizon == 0
        ? "History is complete from the first commit on. "
        : "History is complete from commit \(grouped(horizon)) on. "
    }
    let idle = contents.checkpoints.filter { !$0.isUsed }
    if !idle.isEmpty {
      text +=
        "\(count(idle.count, "checkpoint")) with \(readableSize(idle.reduce(0) { $0 + $1.size })) "
        + "\(idle.count == 1 ? "is" : "are") not needed any more, and the next pass removes "
        + "\(idle.count == 1 ? "it" : "them"). "
    }
    return text
      + "Programs that have the store open can keep removed files on the disk until they close it. "
      + "That leaves no trace in the files, so this page cannot show it."
  }

  private mutating func addSnapshots() {
    let shown = contents.snapshots.elements
    guard !shown.isEmpty else { return }
    let longest = UInt64(shown.map(\.pinnedSize).max() ?? 0)
    html.addTable(
      caption: "Named snapshots, and what each needs besides the newest version; they may share it",
      heads: [
        .name("Name"), .number("Sequence number"), .number("Documents"), .time("Version of"),
        .number("Keeps"), .chart("Bytes kept"),
      ],
      rows: shown.map { snapshot in
        // A forged time may be beyond all dates.
        let milliseconds =
          UInt64(exactly: (snapshot.date.timeIntervalSince1970 * 1000).rounded()) ?? .max
        return [
          HTMLText.name(snapshot.name), grouped(snapshot.sequence),
          grouped(snapshot.documentCount), HTMLText.escaped(readableTime(milliseconds)),
          readableSize(snapshot.pinnedSize),
          ReportChart.bar(
            "Bytes that \(snapshot.name) keeps",
            [
              ReportChart.Part(
                size: UInt64(snapshot.pinnedSize), style: "snapshots",
                title: "\(grouped(snapshot.pinnedSize)) bytes")
            ], of: longest),
        ]
      }, footer: omitted(contents.snapshots.count - shown.count, "snapshot"))
  }
}

extension SpaceUse {
  /// How to release the bytes of a use.
  fileprivate var advice: String {
    switch self {
    case .documents: "Delete documents, or make them smaller"
    case .deleted: "Purge documents that no other store needs to know as deleted"
    case .leaves: "Resolve the conflicts, and purge deleted branches"
    case .snapshots: "Delete named snapshots"
    case .history: "Keep less history; the next pass releases it"
    case .unknown: "Salvage the store"
    case .attachments: "Remove attachments from documents"
    case .others: "Remove local documents and indexes"
    case .dead: "Compact the store"
    case .framing: "Larger transactions need fewer frames"
    case .unread: "See Damage"
    }
  }
}
