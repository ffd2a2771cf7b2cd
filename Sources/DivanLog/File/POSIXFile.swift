import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#else
  import Glibc
#endif

/// An open file of the operating system.
final class POSIXFile: OpenFile {
  private let name: OpenFilePath
  let descriptor: Int32
  private let isClosed = Atomic(false)

  /// Takes ownership of `descriptor`.
  init(path: String, descriptor: Int32) {
    name = OpenFilePath(path)
    self.descriptor = descriptor
  }

  deinit {
    // There is no caller to report an error to, and everything that matters was flushed before.
    if !isClosed.load(ordering: .relaxed) { _ = systemClose(descriptor) }
  }
}

extension POSIXFile {
  var path: String { name.text }

  func didRename(to path: String) { name.rename(to: path) }

  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int
  ) throws(SystemError) -> Int {
    try checkOpen("pread")
    guard let start = buffer.baseAddress else { return 0 }
    return try Transfer(call: "pread", path: path, count: buffer.count).run { (done, count) in
      // `count` bytes from `start + done` on are in the buffer.
      unsafe pread(descriptor, start + done, count, off_t(offset + done))
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
    try checkOpen("pwrite")
    guard let start = bytes.baseAddress else { return }
    try Transfer(call: "pwrite", path: path, count: bytes.count).runWhole { (done, count) in
      // `count` bytes from `start + done` on are in the buffer.
      unsafe pwrite(descriptor, start + done, count, off_t(offset + done))
    }
  }

  func size() throws(SystemError) -> Int { try status().size }

  func dataOffset(from offset: Int) throws(SystemError) -> Int? {
    try checkOpen("lseek")
    // SEEK_DATA, which not every header declares. Nothing else here uses the descriptor's position.
    #if canImport(Darwin)
      let seekData: Int32 = 4
    #else
      let seekData: Int32 = 3
    #endif
    let found = lseek(descriptor, off_t(offset), seekData)
    if found >= 0 { return max(offset, Int(found)) }
    // `ENXIO` means past the last data. After any other error, the system cannot tell.
    return errno == ENXIO ? nil : offset
  }

  func status() throws(SystemError) -> FileStatus {
    try checkOpen("fstat")
    var information = stat()
    try uninterrupted("fstat", path) { unsafe fstat(descriptor, &information) }
    return FileStatus(information)
  }

  func flush() throws(SystemError) {
    try checkOpen("flush")
    try flushDescriptor(descriptor, path)
  }

  func map(_ count: Int) throws(SystemError) -> SharedBytes {
    // Access to a page that is wholly past the end of the file would end the process.
    guard count >= 0, count <= (try size()) else {
      throw SystemError(call: "mmap", path: path, code: .invalidArgument)
    }
    guard count > 0 else { return .empty }
    let start = unsafe mmap(nil, count, PROT_READ, MAP_SHARED, descriptor, 0)
    guard let start = unsafe start, unsafe start != MAP_FAILED else {
      throw SystemError(call: "mmap", path: path, code: .init(rawValue: errno))
    }
    // The mapping lives exactly as long as its owner, and nothing here writes through it.
    return unsafe SharedBytes(
      unsafeBase: UnsafeRawPointer(start), count: count,
      owner: Mapping(start: start, count: count))
  }

  func close() throws(SystemError) {
    guard !isClosed.exchange(true, ordering: .relaxed) else { return }
    // Not repeated after an interruption: the descriptor is closed, and may be reused by then.
    if systemClose(descriptor) == -1 && errno != EINTR {
      throw SystemError(call: "close", path: path, code: .init(rawValue: errno))
    }
  }

  private func checkOpen(_ call: String) throws(SystemError) {
    if isClosed.load(ordering: .relaxed) {
      throw SystemError(call: call, path: path, code: .badDescriptor)
    }
  }
}

/// Flushes the bytes written through a descriptor, as durably as the system allows.
func flushDescriptor(_ descriptor: Int32, _ path: String) throws(SystemError) {
  #if canImport(Darwin)
    // On Darwin, `fsync` leaves the bytes in the drive's cache. Some file systems support only
    // that, and report it with one of three errors. Any other error is a failure to flush.
    func isUnsupported(_ error: SystemError) -> Bool {
      [ENOTSUP, EINVAL, ENOTTY].contains(error.code.rawValue)
    }
    do {
      try uninterrupted("fcntl(F_FULLFSYNC)", path) { fcntl(descriptor, F_FULLFSYNC) }
    } catch  where isUnsupported(error) {
      do {
        try uninterrupted("fcntl(F_BARRIERFSYNC)", path) { fcntl(descriptor, F_BARRIERFSYNC) }
      } catch  where isUnsupported(error) {
        try uninterrupted("fsync", path) { fsync(descriptor) }
      }
    }
  #else
    // Flushes the size too where it is needed to read the bytes back.
    try uninterrupted("fdatasync", path) { fdatasync(descriptor) }
  #endif
}

extension FileStatus {
  init(_ information: stat) {
    let kind: Kind =
      switch information.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .directory
      default: .other
      }
    self.init(kind: kind, size: Int(information.st_size))
  }
}

/// A part of a file that is mapped into memory until the last reference is released.
///
/// `@unchecked Sendable`: nothing changes between the initializer and `deinit`.
@safe
private final class Mapping: @unchecked Sendable {
  let start: UnsafeMutableRawPointer
  let count: Int

  init(start: UnsafeMutableRawPointer, count: Int) {
    unsafe self.start = start
    self.count = count
  }

  deinit {
    // The creator of this object mapped exactly this start and count.
    _ = unsafe munmap(start, count)
  }
}

/// A lock by `flock`, which, unlike one by `fcntl`, lasts as long as its descriptor.
final class POSIXFileLock: FileLock {
  private let file: POSIXFile
  private let identity: (device: dev_t, number: ino_t)
  private let isReleased = Atomic(false)

  /// Takes a file whose descriptor has the lock, or is about to take it.
  init(_ file: POSIXFile) {
    self.file = file
    var information = stat()
    // No other file has these numbers while the descriptor is open. If the call fails, they are
    // zeros, which no file has.
    _ = unsafe fstat(file.descriptor, &information)
    identity = (information.st_dev, information.st_ino)
  }

  func release() {
    guard !isReleased.exchange(true, ordering: .relaxed) else { return }
    // Explicit, since a child process made between open and exec may share the descriptor.
    _ = flock(file.descriptor, LOCK_UN)
    try? file.close()
  }

  func checkPath() throws(SystemError) {
    // One call only, since it is made for every group commit.
    var named = stat()
    try uninterrupted("lstat", file.path) { unsafe lstat(file.path, &named) }
    guard identity.device == named.st_dev, identity.number == named.st_ino else {
      throw SystemError(call: "lstat", path: file.path, code: .staleHandle)
    }
  }

  /// Writes a note into the file.
  ///
  /// On a full disk there may be none: that must not prevent deletions.
  func leaveNote(_ note: String) {
    guard (try? uninterrupted("ftruncate", file.path, { ftruncate(file.descriptor, 0) })) != nil
    else { return }
    try? file.write(SharedBytes(copying: Array(note.utf8)), at: 0)
  }

  /// Returns the holder's note.
  ///
  /// A process that has just taken the lock may not have written its note yet. The file is then
  /// empty, or contains the previous holder's note. A note therefore counts only if it is read
  /// twice with some time in between.
  func readNote() -> String {
    var last = ""
    for _ in 0..<20 {
      let bytes = (try? file.read(FileLockOutcome.noteSizeLimit, at: 0)) ?? .empty
      let note = String(decoding: bytes.array, as: UTF8.self)
      if !note.isEmpty, note == last { break }
      last = note
      usleep(3000)
    }
    return last
  }
}
