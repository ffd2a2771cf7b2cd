import Divan
import DivanLog

/// Checks a view's file: every frame, and the order of its rows. FILE_FORMAT.md §19
///
/// Only the view's function shows whether the rows match the documents, and that is in no file.
struct ViewCheck {
  private let name: FileName
  private let log: OpenedLog
  private let findings: Findings
  private let path: String

  init(_ name: FileName, _ log: OpenedLog, _ findings: Findings) {
    self.name = name
    self.log = log
    self.findings = findings
    path = log.directory.path(of: name)
  }
}

extension ViewCheck {
  func run() throws {
    do {
      let view = try InspectedView(name, in: log.directory)
      try checkHeader(view.header)
      guard view.isOfThisOrder else {
        return try findings.note(
          Damage(
            path: path, offset: 96, reason: "not used: its rows are in the order of another version"
          ))
      }
      _ = try view.check()
    } catch {
      guard let damage = Damage(of: error) else { throw error }
      try findings.add(damage)
    }
  }

  private func checkHeader(_ header: ViewFileHeader) throws {
    let file = try log.directory.fileSystem.open(path, .reading)
    let block = try file.read(ViewFileHeader.size, at: 0)
    try file.close()
    try findings.requireZeros(
      block, [56..<64, ViewFileHeader.usedSize..<4092], path: path, at: 0)
    if let first = log.segments.first, first.header.preamble.storeID != header.preamble.storeID {
      try findings.note(
        Damage(path: path, offset: 24, reason: "not used: it belongs to another store"))
    }
    if let last = log.last, header.origin.commit > last.end.commit {
      try findings.note(
        Damage(
          path: path, offset: 64,
          reason: "not used: the log does not contain the commit that it was made from"))
    }
  }
}
