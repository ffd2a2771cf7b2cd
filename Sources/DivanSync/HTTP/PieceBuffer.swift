import Foundation
import Synchronization

/// The temporary files of a transport, which together have a limited size.
///
/// It counts bytes that were received and not read yet. Those of a file that were read take space
/// on the disk until the last one was read, so files are small in relation to the limit.
final class Spool: Sendable {
  private let sizeLimit: Int64
  private let size = Mutex<Int64>(0)

  init(sizeLimit: Int64) { self.sizeLimit = sizeLimit }

  /// The size in bytes after which a response goes to another file.
  ///
  /// A response whose reader is slow has some 64 files then, and not thousands.
  fileprivate var fileSizeLimit: UInt64 { UInt64(max(1 << 20, sizeLimit / 64)) }

  /// Takes a number of bytes of the limit.
  ///
  /// - Throws: ``isFull(sizeLimit:)`` if they are not left.
  fileprivate func take(_ count: Int) throws {
    let isTaken = size.withLock { size in
      guard Int64(count) <= sizeLimit - size else { return false }
      size += Int64(count)
      return true
    }
    guard isTaken else { throw Self.isFull(sizeLimit: sizeLimit) }
  }

  fileprivate func giveBack(_ count: Int) { size.withLock { $0 -= Int64(count) } }

  /// The error of a response for which there is no room; there is some when others were read.
  static func isFull(sizeLimit: Int64) -> ReplicationError {
    var error = ReplicationError(
      .busy,
      "responses arrive faster than they are read, and what waits needs more than the "
        + "\(sizeLimit) bytes of `URLSessionTransport(spoolSizeLimit:)` in temporary files")
    error.isOfFullSpool = true
    return error
  }
}

/// A file without a name, so that nothing is left of it when it is released or the process ends.
private final class SpoolFile: Sendable {
  private struct State {
    let handle: FileHandle
    var readOffset: UInt64 = 0
    var size: UInt64 = 0
  }

  private let spool: Spool
  private let state: Mutex<State>

  init(_ spool: Spool) throws {
    self.spool = spool
    let url = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    guard
      FileManager.default.createFile(
        atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600])
    else { throw CocoaError(.fileWriteUnknown) }
    defer { try? FileManager.default.removeItem(at: url) }
    state = Mutex(State(handle: try FileHandle(forUpdating: url)))
  }

  deinit { spool.giveBack(state.withLock { Int($0.size - $0.readOffset) }) }

  var isEmpty: Bool { state.withLock { $0.readOffset == $0.size } }
  var isFull: Bool { state.withLock { $0.size >= spool.fileSizeLimit } }

  func append(_ data: Data) throws {
    try state.withLock { state in
      try spool.take(data.count)
      do {
        try state.handle.seek(toOffset: state.size)
        try state.handle.write(contentsOf: data)
      } catch {
        spool.giveBack(data.count)
        throw error
      }
      state.size += UInt64(data.count)
    }
  }

  /// Returns the next bytes; what was read completely is deleted.
  func read(_ count: Int) throws -> Data {
    try state.withLock { state in
      try state.handle.seek(toOffset: state.readOffset)
      let rest = Int(clamping: state.size - state.readOffset)
      let piece = try state.handle.read(upToCount: min(count, rest)) ?? Data()
      guard !piece.isEmpty else { throw CocoaError(.fileReadUnknown) }
      state.readOffset += UInt64(piece.count)
      spool.giveBack(piece.count)
      if state.readOffset == state.size {
        try state.handle.truncate(atOffset: 0)
        (state.readOffset, state.size) = (0, 0)
      }
      return piece
    }
  }
}

/// Bytes that were received and not read: some in memory, and the rest in files.
struct PieceBuffer: Sendable {
  /// How many bytes are kept in memory.
  private static let memoryLimit = 1 << 20
  private static let fileReadSize = 1 << 18

  private let spool: Spool
  private var pieces: [Data] = []
  private var memorySize = 0
  /// What came after the pieces, if it did not fit into memory.
  ///
  /// Only the last one can be empty.
  private var files: [SpoolFile] = []

  init(_ spool: Spool) { self.spool = spool }

  var isEmpty: Bool { pieces.isEmpty && files.first?.isEmpty ?? true }

  mutating func append(_ data: Data) throws {
    if files.first?.isEmpty ?? true, memorySize + data.count <= Self.memoryLimit {
      pieces.append(data)
      memorySize += data.count
      return
    }
    if let last = files.last, !last.isFull {
      try last.append(data)
    } else {
      let file = try SpoolFile(spool)
      try file.append(data)
      files.append(file)
    }
  }

  mutating func popFirst() throws -> Data? {
    if !pieces.isEmpty {
      let piece = pieces.removeFirst()
      memorySize -= piece.count
      return piece
    }
    guard let file = files.first, !file.isEmpty else { return nil }
    let piece = try file.read(Self.fileReadSize)
    if file.isEmpty, files.count > 1 { files.removeFirst() }
    return piece
  }
}
