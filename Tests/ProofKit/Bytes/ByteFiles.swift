package import DivanLog
import Synchronization

/// The immutable files of one directory: the cheapest file system that a store can be read from.
///
/// Copies share the bytes, so a damaged copy of a store costs no more than the damaged file. Every
/// change is rejected as on a read-only medium.
package struct ByteFiles: Sendable {
  package static let directory = "/store.divan"
  /// The files by their names in the directory.
  package var files: [String: SharedBytes]
  /// Records the largest number of bytes that was requested at once; nil if that is not measured.
  package var largestRead: LargestRead?
  /// The reported size of each file, as for sparse ones; nil for the actual size.
  package var statedSize: Int?

  package init(_ files: [String: SharedBytes]) { self.files = files }

  package init(_ files: [String: [UInt8]]) {
    self.files = files.mapValues { SharedBytes(copying: $0) }
  }

  /// The maximum of the recorded sizes.
  package final class LargestRead: Sendable {
    private let size = Atomic(0)
    package init() {}
    package var value: Int { size.load(ordering: .relaxed) }
    fileprivate func note(_ count: Int) { size.max(count, ordering: .relaxed) }
  }
}

extension ByteFiles: FileSystem {
  private func refuse(_ call: String, _ path: String) -> SystemError {
    SystemError(call: call, path: path, code: .readOnlyFileSystem)
  }

  private func name(in path: String) -> String? {
    let prefix = ByteFiles.directory + "/"
    return path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : nil
  }

  package func open(_ path: String, _ access: FileAccess) throws(SystemError) -> any OpenFile {
    if case .creating = access { throw refuse("open", path) }
    guard let name = name(in: path), let bytes = files[name] else {
      throw SystemError(call: "open", path: path, code: .notFound)
    }
    return OpenBytes(
      path: path, bytes: bytes, largestRead: largestRead, statedSize: statedSize)
  }

  package func list(_ path: String) throws(SystemError) -> [String] {
    let prefix = path + "/"
    let names = files.keys.map { "\(ByteFiles.directory)/\($0)" }
      .filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    guard path == ByteFiles.directory || !names.isEmpty else {
      throw SystemError(call: "open", path: path, code: .notFound)
    }
    return Set(names.compactMap { $0.split(separator: "/").first.map(String.init) }).sorted()
  }

  package func status(_ path: String) throws(SystemError) -> FileStatus {
    let isFolder = name(in: path).map { folder in
      files.keys.contains { $0.hasPrefix(folder + "/") }
    }
    if path == ByteFiles.directory || isFolder == true {
      return FileStatus(kind: .directory, size: 0)
    }
    guard let name = name(in: path), let bytes = files[name] else {
      throw SystemError(call: "stat", path: path, code: .notFound)
    }
    return FileStatus(kind: .file, size: bytes.count)
  }

  package func canonicalPath(_ path: String) throws(SystemError) -> String { path }

  package func lock(_ path: String, note: String) throws(SystemError) -> FileLockOutcome {
    throw refuse("open", path)
  }

  package func rename(_ path: String, to newPath: String) throws(SystemError) {
    throw refuse("rename", path)
  }

  package func link(_ path: String, to newPath: String) throws(SystemError) {
    throw refuse("link", path)
  }

  package func remove(_ path: String) throws(SystemError) { throw refuse("unlink", path) }

  package func makeDirectory(_ path: String) throws(SystemError) { throw refuse("mkdir", path) }

  package func removeDirectory(_ path: String) throws(SystemError) { throw refuse("rmdir", path) }

  package func flushDirectory(_ path: String) throws(SystemError) { throw refuse("fsync", path) }
}

private final class OpenBytes: OpenFile {
  let path: String
  private let bytes: SharedBytes
  private let largestRead: ByteFiles.LargestRead?
  private let statedSize: Int?

  init(
    path: String, bytes: SharedBytes, largestRead: ByteFiles.LargestRead?, statedSize: Int?
  ) {
    self.path = path
    self.bytes = bytes
    self.largestRead = largestRead
    self.statedSize = statedSize
  }

  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int
  ) throws(SystemError) -> Int {
    largestRead?.note(buffer.count)
    guard offset >= 0, offset < bytes.count else { return 0 }
    let part = bytes.suffix(from: offset)
    let count = min(buffer.count, part.count)
    unsafe part.prefix(count).withUnsafeBytes { unsafe buffer.copyMemory(from: $0) }
    return count
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
    throw SystemError(call: "pwrite", path: path, code: .badDescriptor)
  }

  func size() throws(SystemError) -> Int { statedSize ?? bytes.count }

  func flush() throws(SystemError) {}

  func map(_ count: Int) throws(SystemError) -> SharedBytes {
    guard count >= 0, count <= bytes.count else {
      throw SystemError(call: "mmap", path: path, code: .invalidArgument)
    }
    return bytes.prefix(count)
  }

  func close() throws(SystemError) {}
}
