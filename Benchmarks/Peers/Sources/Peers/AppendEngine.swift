import Foundation

/// No store at all: appends the bytes of the ID and the document to a file and flushes it.
///
/// The minimum cost of a durable commit on this file system when the file grows.
///
/// `@unchecked Sendable`: `lock` guards the file.
class AppendEngine: Engine, @unchecked Sendable {
  class var name: String { "append" }
  class var workloads: Set<Workload> { [.commit] }
  class var reads: [ReadKind] { [] }
  class var scans: [ScanOrder] { [] }
  /// The number of bytes written before the first commit, which commits then overwrite.
  class var preallocated: Int { 0 }

  private let descriptor: Int32
  private let lock = NSLock()
  private var end = 0

  required init(directory: String, purpose: Purpose, cacheBytes: Int) throws {
    descriptor = open(directory + "/append.log", O_RDWR | O_CREAT, 0o644)
    guard descriptor >= 0 else { throw PeerError("cannot create the file") }
    end = Self.preallocated > 0 ? 0 : Int(lseek(descriptor, 0, SEEK_END))
    if Self.preallocated > 0 {
      let zeros = [UInt8](repeating: 0, count: Self.preallocated)
      guard pwrite(descriptor, zeros, zeros.count, 0) == zeros.count, fsync(descriptor) == 0 else {
        throw PeerError("cannot preallocate")
      }
    }
  }

  func commit(_ document: Document) throws {
    try lock.withLock {
      if Self.preallocated > 0, end + 4096 > Self.preallocated { end = 0 }
      var bytes = [UInt8](document.id)
      bytes.append(contentsOf: document.body)
      guard pwrite(descriptor, bytes, bytes.count, off_t(end)) == bytes.count else {
        throw PeerError("pwrite failed")
      }
      #if os(Linux)
        guard fdatasync(descriptor) == 0 else { throw PeerError("fdatasync failed") }
      #else
        guard fcntl(descriptor, F_FULLFSYNC) == 0 else { throw PeerError("F_FULLFSYNC failed") }
      #endif
      end += bytes.count
    }
  }

  func load(_ batch: Batch) throws { throw PeerError("only commits") }
  func flush() throws {}
  func read(_ ids: IDList, _ kind: ReadKind) throws -> UInt64 { throw PeerError("only commits") }
  func scan(_ order: ScanOrder) throws -> (count: Int, sum: UInt64) {
    throw PeerError("only commits")
  }
  func close() throws { Foundation.close(descriptor) }
}

/// Appends over a file whose blocks are already written, so that a flush changes no metadata.
///
/// The minimum cost of any durable commit; a log that reuses its file comes close to it.
final class PreallocatedAppendEngine: AppendEngine, @unchecked Sendable {
  override class var name: String { "overwrite" }
  override class var preallocated: Int { 4 << 20 }
}
