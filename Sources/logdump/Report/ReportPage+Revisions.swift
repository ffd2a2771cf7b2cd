import Divan
import DivanLog

// The sections on revisions and on damage.

extension ReportPage {
  mutating func addRevisions() {
    let use = contents.revisions
    section(
      "revisions", "Revisions",
      "\(count(use.conflictCount, "document")) in conflict; "
        + "\(grouped(use.treeCount)) with more than one leaf now or in the past."
    ) { page in
      if !use.pictures.isEmpty {
        page.addLegend(
          [
            ("documents", "Winner"), ("leaves", "Branch in conflict"), ("ancestor", "Ancestor"),
            ("ring", "Only the ID is known, or with a cross: deleted"),
          ], isRound: true)
      }
      for picture in use.pictures { page.add(picture) }
      guard use.chosen == nil else { return }
      page.addBranched()
      page.addEdited()
    }
  }

  private mutating func add(_ picture: RevisionPicture) {
    html.add("<h3>\(HTMLText.name(picture.id))</h3>")
    var text =
      "\(count(picture.revisionCount, "known revision")), "
      + "\(picture.leafCount == 1 ? "1 leaf" : "\(grouped(picture.leafCount)) leaves"), "
      + (picture.branchCount == 1 ? "1 branch." : "\(grouped(picture.branchCount)) branches.")
    if picture.branchCount > 1 { text += " It is in conflict." }
    let hidden = picture.revisionCount - picture.nodes.count
    if hidden > 0 {
      text +=
        " \(count(hidden, "revision")) \(hidden == 1 ? "is" : "are") not drawn; dotted lines stand "
        + "for them."
    }
    if picture.omittedLeafCount > 0 {
      text += " \(grouped(picture.omittedLeafCount)) of the leaves are not drawn."
    }
    html.add("p", "class=\"note\"", text: text)
    html.add("<div class=\"scroll\" tabindex=\"0\">\(picture.svg)</div>")
    guard contents.revisions.chosen != nil else { return }
    let rows = picture.nodes.reversed().prefix(ReportContents.rowLimit * 5).map { node in
      [
        HTMLText.name(node.revision), HTMLText.escaped(node.state.text),
        node.isRetained ? "in the log" : "only the ID",
        node.parent.map { HTMLText.name(picture.nodes[$0].revision) } ?? "",
      ]
    }
    html.addTable(
      caption: "The drawn revisions",
      heads: [.name("Revision"), .text("State"), .text("Content"), .name("Drawn after")],
      rows: rows, footer: omitted(picture.nodes.count - rows.count, "drawn revision"))
  }

  private mutating func addBranched() {
    let shown = contents.revisions.mostLeaves.elements
    guard let most = shown.map(\.leafCount).max() else { return }
    html.addTable(
      caption: "The documents with the most branches",
      heads: [.name("ID"), .number("Branches"), .number("Leaves"), .chart("")],
      rows: shown.map { each in
        [
          HTMLText.name(each.id), grouped(each.branchCount), grouped(each.leafCount),
          ReportChart.bar(
            "Leaves of \(each.id)",
            [
              ReportChart.Part(
                size: UInt64(each.branchCount),
                style: each.branchCount > 1 ? "leaves" : "documents",
                title: "\(grouped(each.branchCount)) not deleted"),
              ReportChart.Part(
                size: UInt64(each.leafCount - each.branchCount), style: "dead",
                title: "\(grouped(each.leafCount - each.branchCount)) deleted"),
            ], of: UInt64(most)),
        ]
      }, footer: omitted(contents.revisions.mostLeaves.count - shown.count, "document"))
  }

  private mutating func addEdited() {
    let shown = contents.revisions.mostEdited.elements
    guard let most = shown.map(\.generation).max() else { return }
    html.addTable(
      caption: "The documents with the most edits; the generation counts them",
      heads: [.name("ID"), .number("Generation"), .text("State"), .chart("")],
      rows: shown.map { each in
        [
          HTMLText.name(each.id), grouped(each.generation), each.isDeleted ? "deleted" : "",
          ReportChart.bar(
            "Generation of \(each.id)",
            [
              ReportChart.Part(
                size: each.generation, style: each.isDeleted ? "deleted" : "documents",
                title: "\(grouped(each.generation))")
            ], of: most),
        ]
      })
  }

  // MARK: Damage

  mutating func addDamage() {
    let damage = contents.damage
    section(
      "damage", "Damage",
      hasDamage
        ? damage.count == 0
          ? "Parts of the store cannot be read."
          : "Bytes differ from the written ones at \(count(damage.count, "location")). "
            + "logdump salvage puts what is whole into a new store."
        : "No damage was found in the log, in checkpoints, in views, and in the names and sizes of "
          + "attachments.",
      style: hasDamage ? "alarm" : ""
    ) { page in
      for problem in page.contents.problems { page.html.add("p", text: problem) }
      if !damage.items.isEmpty { page.addDamagedFiles() }
      if !damage.items.isEmpty {
        page.html.addTable(
          caption: "Locations of damage", heads: Self.damageHeads,
          rows: damage.items.map(page.row),
          footer: page.omitted(damage.count - damage.items.count, "location"))
      }
      if !damage.notes.isEmpty {
        page.html.addTable(
          caption: "Other findings, which are no damage", heads: Self.damageHeads,
          rows: damage.notes.map(page.row))
      }
    }
  }

  private static let damageHeads: [HTMLText.Head] = [
    .name("File"), .text("Kind"), .number("Offset"), .number("Size"),
    HTMLText.Head(text: "Finding", kind: "finding"),
  ]

  private func row(_ damage: Damage) -> [String] {
    [
      HTMLText.name(name(of: damage.path)), kind(of: damage.path), grouped(damage.offset),
      damage.size.map { grouped($0) } ?? "unknown", HTMLText.escaped(damage.reason),
    ]
  }

  /// Returns a path without that of the store.
  private func name(of path: String) -> String {
    let folder = contents.path.hasSuffix("/") ? contents.path : contents.path + "/"
    return path.hasPrefix(folder) ? String(path.dropFirst(folder.count)) : path
  }

  private func kind(of path: String) -> String {
    let name = name(of: path)
    if name.hasPrefix("\(FileName.attachments)/") { return "attachment" }
    switch FileName(name) {
    case .segment: return "segment"
    case .checkpoint: return "checkpoint"
    case .view: return "view"
    case .head, .flushed, .lock: return "evidence"
    case .reserve, .check, .temporaries, .attachments, nil:
      return path == contents.path ? "store" : "file"
    }
  }

  /// Draws each damaged segment with the places of its damage.
  private mutating func addDamagedFiles() {
    let damage = contents.damage.items
    let files = contents.segments.filter { segment in damage.contains { $0.path == segment.path } }
    guard !files.isEmpty else { return }
    let shown = files.prefix(ReportContents.rowLimit * 2)
    html.addTable(
      caption: "Damaged segments, from the first byte to the last, with the damage where it is",
      heads: [
        .file("Segment"), .chart("Place in the file"), .number("Size"), .number("Locations"),
      ],
      rows: shown.map { segment in
        let found = damage.filter { $0.path == segment.path }
        return [
          HTMLText.escaped(segment.name),
          ReportChart.bar(
            "Damage in \(segment.name)",
            [ReportChart.Part(size: segment.size, style: "framing", title: segment.name)],
            of: segment.size,
            marks: found.map {
              ReportChart.Mark(
                offset: $0.offset, size: $0.size, title: "At byte \($0.offset): \($0.reason)")
            }, size: segment.size), readableSize(segment.size), grouped(found.count),
        ]
      }, footer: omitted(files.count - shown.count, "damaged segment"))
  }
}
