import Divan
import DivanLog

/// Checks a checkpoint: every page, and every entry against the log. FILE_FORMAT.md §11
struct CheckpointCheck {
  private let number: UInt64
  private let log: OpenedLog
  private let findings: Findings
  private let path: String

  init(_ number: UInt64, _ log: OpenedLog, _ findings: Findings) {
    self.number = number
    self.log = log
    self.findings = findings
    path = log.directory.path(of: .checkpoint(number))
  }
}

extension CheckpointCheck {
  /// Checks every page, but not whether its entries are those of the log.
  func checkFrames() throws {
    do {
      try checkFile(try CheckpointFile.open(number, in: log.directory, isMapped: false))
    } catch {
      guard let damage = Damage(of: error) else { throw error }
      try findings.add(damage)
    }
  }

  func run() throws {
    do {
      let file = try CheckpointFile.open(number, in: log.directory, isMapped: false)
      try checkFile(file)
      guard let found = try InspectedCheckpoint(number, among: log.files, in: log.directory) else {
        // Newer checkpoints need its pages, which were checked, but not its account of the log.
        if log.checkpoint?.checkpointsInUse.contains(number) == true { return }
        return try findings.note(
          Damage(path: path, offset: 0, reason: "not used: it depends on files that are missing"))
      }
      guard let differences = try found.differences() else {
        return try findings.note(
          Damage(
            path: path, offset: 0,
            reason: "not compared with the log, which is damaged in the part that it was made from")
        )
      }
      for (index, difference) in differences.enumerated() {
        try findings.add(
          Damage(path: path, offset: file.header.directoryOffset + index, reason: difference))
      }
    } catch {
      guard let damage = Damage(of: error) else { throw error }
      try findings.add(damage)
    }
  }

  /// Checks every frame, the chain that links them, and the size.
  private func checkFile(_ file: CheckpointFile) throws {
    let header = file.header
    let block = try file.file.read(CheckpointHeader.size, at: 0)
    try findings.requireZeros(block, [56..<64, 88..<4092], path: path, at: 0)
    if let first = log.segments.first, first.header.preamble.storeID != header.preamble.storeID {
      try findings.add(Damage(path: path, offset: 24, reason: "it belongs to another store"))
    }
    let size = try file.file.size()
    // The checks at opening ensure that this sum does not overflow.
    let expected = header.directoryOffset + Int(clamping: header.directorySize)
    if size != expected {
      try findings.add(
        Damage(
          path: path, offset: min(size, expected),
          reason: "the file's size is not the one that its header states"))
    }
    var chain = CRC32C.checksum(block.prefix(FilePreamble.size))
    var isChained = true
    for page in 0..<header.pageCount {
      let offset = CheckpointHeader.offset(ofPage: page)
      let isSound = try check { () throws(LogError) in _ = try file.page(page) }
      isChained = isChained && isSound
      chain = try link(chain, isChained, offset, file)
    }
    let isSound = try check { () throws(LogError) in _ = try file.directory() }
    isChained = isChained && isSound
    _ = try link(chain, isChained, header.directoryOffset, file)
  }

  /// Runs `read`, and adds the damage that it throws; returns whether there was none.
  private func check(_ read: () throws(LogError) -> Void) throws -> Bool {
    do {
      try read()
      return true
    } catch {
      guard let damage = Damage(of: error) else { throw error }
      try findings.add(damage)
      return false
    }
  }

  /// Checks that a frame follows the one before it; returns the chain value for the next one.
  private func link(
    _ chain: UInt32, _ isChained: Bool, _ offset: Int, _ file: CheckpointFile
  ) throws -> UInt32 {
    let bytes = try file.file.read(FrameHeader.size, at: offset)
    guard isChained, bytes.count == FrameHeader.size else { return chain }
    if bytes.load(UInt32.self, at: 24) != chain {
      try findings.add(
        Damage(path: path, offset: offset, reason: "the frame does not follow the one before it"))
    }
    return FrameHeader.chain(after: bytes)
  }
}
