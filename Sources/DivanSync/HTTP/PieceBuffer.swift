import Foundation
import Synchronization

/// The temporary files of a transport, which together have a limited size.
final class Spool: Sendable {
  private let sizeLimit: Int64
  private let size = Mutex<Int64>(0)

  init(sizeLimit: Int64) { self.sizeLimit = sizeLimit }

  /// Takes a number of bytes of the limit.
  ///
  /// - Throws: ``ReplicationError`` with the code `unavailableContent` if they are not left.
  fileprivate func take(_ count: Int) throws {
    let isTaken = size.withLock { size in
      guard Int64(count) <= sizeLimit - size else { return false }
      size += Int64(count)
      return true
    }
    guard isTaken else {
      throw ReplicationError(
        .unavailableContent,
        "responses arrive faster than they are read, and what waits needs more than the "
          + "\(sizeLimit) bytes of `URLSessionTransport(spoolSizeLimit:)` in temporary files")
    }
  }

  fileprivate func giveBack(_ count: Int64) { size.withLock { $0 -= count } }
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

  deinit { spool.giveBack(Int64(state.withLock { $0.size })) }

  var isEmpty: Bool { state.withLock { $0.readOffset == $0.size } }

  func append(_ data: Data) throws {
    try state.withLock { state in
      try spool.take(data.count)
      do {
        try state.handle.seek(toOffset: state.size)
        try state.handle.write(contentsOf: data)
      } catch {
        spool.giveBack(Int64(data.count))
        throw error
      }
      state.size += UInt64(data.count)
    }
  }

  /// Returns the next bytes; what was read completely is deleted.
  func read(_ count: Int) throws -> Data {
    try state.withLock { state in
      try state.handle.seek(toOffset: state.readOffset)
      let piece = try state.handle.read(upToCount: count) ?? Data()
      guard !piece.isEmpty else { throw CocoaError(.fileReadUnknown) }
      state.readOffset += UInt64(piece.count)
      if state.readOffset == state.size {
        try state.handle.truncate(atOffset: 0)
        spool.giveBack(Int64(state.size))
        (state.readOffset, state.size) = (0, 0)
      }
      return piece
    }
  }
}

/// Bytes that were received and not read: some in memory, and the rest in a file.
struct PieceBuffer: Sendable {
  /// How many bytes are kept in memory.
  private static let memoryLimit = 1 << 20
  private static let fileReadSize = 1 << 18

  private let spool: Spool
  private var pieces: [Data] = []
  private var memorySize = 0
  /// What came after the pieces, if it did not fit into memory.
  private var file: SpoolFile?

  init(_ spool: Spool) { self.spool = spool }

  var isEmpty: Bool { pieces.isEmpty && file?.isEmpty ?? true }

  mutating func append(_ data: Data) throws {
    if file?.isEmpty ?? true, memorySize + data.count <= Self.memoryLimit {
      pieces.append(data)
      memorySize += data.count
      return
    }
    let file = try file ?? SpoolFile(spool)
    self.file = file
    try file.append(data)
  }

  mutating func popFirst() throws -> Data? {
    if !pieces.isEmpty {
      let piece = pieces.removeFirst()
      memorySize -= piece.count
      return piece
    }
    guard let file, !file.isEmpty else { return nil }
    return try file.read(Self.fileReadSize)
  }
}
