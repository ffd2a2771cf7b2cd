import Divan
import DivanLog

/// A report as one page of HTML, which loads nothing from anywhere.
struct ReportPage {
  let contents: ReportContents
  var html = HTMLText()

  init(_ contents: ReportContents) { self.contents = contents }

  /// The most segments that have a row of their own; more are combined.
  static let segmentLimit = 120
}

extension ReportPage {
  /// Returns the page.
  ///
  /// Its size has a limit, which does not depend on the size of the store.
  static func markup(of contents: ReportContents) -> String {
    var page = ReportPage(contents)
    page.addAll()
    return page.html.markup
  }

  private mutating func addAll() {
    let name = HTMLText.escaped(contents.path)
    html.add("<!DOCTYPE html>")
    html.add("<html lang=\"en\"><head><meta charset=\"utf-8\">")
    // Nothing is loaded and no script runs, even if an ID should get through as markup.
    html.add(
      "<meta http-equiv=\"Content-Security-Policy\" "
        + "content=\"default-src 'none'; style-src 'unsafe-inline'\">")
    html.add("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")
    html.add("<title>Store report: \(name)</title>")
    html.add("<style>\n\(ReportStyle.sheet)\n</style></head><body>")
    addHeader()
    html.add("<main>")
    if hasDamage { addDamage() }
    addFiles()
    addSegments()
    addTimeline()
    addRetention()
    addDocuments()
    addAttachments()
    addIndexes()
    addRevisions()
    if !hasDamage { addDamage() }
    html.add("</main>")
    html.add("<footer class=\"note\"><p>")
    html.add(
      "Made by <code>logdump report</code>, which reads the store and never writes to it. It has "
        + "read the whole log, but neither the contents of attachment files nor every entry of the "
        + "index: <code>logdump verify</code> does.")
    html.add("</p></footer></body></html>")
  }

  var hasDamage: Bool { contents.damage.count > 0 || !contents.problems.isEmpty }

  /// Adds a section with a heading and a sentence that says what it shows.
  mutating func section(
    _ id: String, _ title: String, _ lead: String, style: String = "",
    _ body: (inout ReportPage) -> Void
  ) {
    html.add(
      "<section id=\"\(id)\" aria-labelledby=\"\(id)-title\""
        + (style.isEmpty ? ">" : " class=\"\(style)\">"))
    html.add("h2", "id=\"\(id)-title\"", text: title)
    html.add("p", "class=\"lead\"", text: lead)
    body(&self)
    html.add("</section>")
  }

  // MARK: Head

  private mutating func addHeader() {
    html.add("<header>")
    html.add("<h1>\(HTMLText.name(contents.path))</h1>")
    let time = contents.time.map { " at \(readableTime($0))" } ?? ""
    html.add(
      "p", "class=\"lead\"",
      text: "Store \(contents.storeID ?? "without an ID") as of commit "
        + "\(grouped(contents.commit))\(time): \(contents.ending).")
    addTiles()
    let sections = [
      ("files", "Files"), ("segments", "Segments"), ("time", "Time"),
      ("retention", "What keeps space"), ("documents", "Documents"),
      ("attachments", "Attachments"), ("indexes", "Indexes"), ("revisions", "Revisions"),
    ]
    let damage = ("damage", "Damage")
    let links = (hasDamage ? [damage] + sections : sections + [damage]).map {
      "<li><a href=\"#\($0.0)\">\($0.1)</a></li>"
    }
    html.add("<nav aria-label=\"Sections\"><ul>\(links.joined())</ul></nav></header>")
  }

  private mutating func addTiles() {
    let total = contents.files.reduce(0) { $0 + $1.amount.size }
    let dead = contents.segments.reduce(0) { $0 + ($1.sizes[.dead] ?? 0) }
    let live = contents.segments.reduce(0) { $0 + $1.live }
    let conflicts = contents.revisions.conflictCount
    html.add("<dl class=\"tiles\">")
    addTile(
      "Documents", grouped(contents.documents.liveCount),
      "and \(grouped(contents.documents.deletedCount)) deleted")
    addTile("On disk", readableSize(total), "\(count(contents.segments.count, "segment"))")
    addTile(
      "Live records", readableSize(live), "\(readableShare(live, of: live + dead)) of all records")
    addTile("Superseded", readableSize(dead), "compaction frees it")
    addTile(
      "In conflict", grouped(conflicts), conflicts == 1 ? "document" : "documents",
      style: conflicts > 0 ? "warning" : "")
    let damage = contents.damage.count
    addTile(
      "Damage", damage > 0 ? grouped(damage) : hasDamage ? "yes" : "none",
      damage > 0 ? (damage == 1 ? "location" : "locations") : hasDamage ? "see below" : "found",
      style: hasDamage ? "bad" : "good")
    html.add("</dl>")
  }

  private mutating func addTile(
    _ title: String, _ value: String, _ note: String, style: String = ""
  ) {
    html.add(
      "<div>\(HTMLText.element("dt", text: title))<dd\(style.isEmpty ? "" : " class=\"\(style)\"")>"
        + "\(HTMLText.escaped(value))\(HTMLText.element("small", text: note))</dd></div>")
  }

  /// Returns a number with a noun, as in `1 segment` and `2 segments`.
  func count(_ number: some BinaryInteger, _ noun: String) -> String {
    "\(grouped(number)) \(noun)\(number == 1 ? "" : "s")"
  }

  /// Adds what the colors mean.
  mutating func addLegend(_ items: [(style: String, text: String)], isRound: Bool = false) {
    let markup = items.map { item in
      "<li\(isRound ? " class=\"round\"" : "")><i class=\"\(item.style)\"></i>"
        + "\(HTMLText.escaped(item.text))</li>"
    }
    html.add("<ul class=\"legend\">\(markup.joined())</ul>")
  }
}

extension SpaceUse {
  var style: String { "\(self)" }

  var title: String {
    switch self {
    case .documents: "Documents"
    case .deleted: "Deleted documents"
    case .leaves: "Branches of conflicts"
    case .snapshots: "Named snapshots"
    case .history: "History"
    case .unknown: "Retained, reason unreadable"
    case .attachments: "Attachments in the log"
    case .others: "Other records"
    case .dead: "Superseded"
    case .framing: "Frames and free space"
    case .unread: "Not in the readable log"
    }
  }
}
