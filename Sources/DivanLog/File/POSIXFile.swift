import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A file of the machine that is open.
final class POSIXFile: OpenFile {
  let path: String
  let descriptor: Int32
  private let isClosed = Atomic(false)

  /// Takes over `descriptor`.
  init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit {
    // Nobody is left to be told of an error, and what mattered was flushed before.
    if !isClosed.load(ordering: .relaxed) { _ = systemClose(descriptor) }
  }
}

extension POSIXFile {
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
    // SEEK_DATA, which not every header shows. Nothing else here uses the descriptor's own position.
    #if canImport(Darwin)
      let seekData: Int32 = 4
    #else
      let seekData: Int32 = 3
    #endif
    let found = lseek(descriptor, off_t(offset), seekData)
    if found >= 0 { return max(offset, Int(found)) }
    // Elsewhere than past the last data, it is a system that does not tell.
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
    // A page that lies wholly past the end of the file would end the process when touched.
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
    // Never again after an interruption: the descriptor is gone, and may be somebody else's by then.
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

/// Flushes what was written through a descriptor, as far as the system can be asked to.
func flushDescriptor(_ descriptor: Int32, _ path: String) throws(SystemError) {
  #if canImport(Darwin)
    // `fsync` leaves the bytes in the drive's cache there. Some file systems have only that,
    // and say so in one of three ways; any other error is a failure to flush.
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
    self.init(
      kind: kind, size: Int(information.st_size),
      // Blocks of 512 bytes, whatever the file system's own are.
      allocatedSize: Int(information.st_blocks) * 512)
  }
}

/// Part of a file as memory, until the last reference goes.
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
    // Mapped with this very start and count, by whoever made this object.
    _ = unsafe munmap(start, count)
  }
}

/// A lock by `flock`, which goes with its descriptor and, unlike one by `fcntl`, not earlier.
final class POSIXFileLock: FileLock {
  private let file: POSIXFile
  private let identity: (device: dev_t, number: ino_t)
  private let isReleased = Atomic(false)

  /// Takes the descriptor on which the lock is, or is to be.
  init(_ file: POSIXFile) {
    self.file = file
    var information = stat()
    // No other file has these numbers while the descriptor is open. Zeros, if it fails, are nobody's.
    _ = unsafe fstat(file.descriptor, &information)
    identity = (information.st_dev, information.st_ino)
  }

  func release() {
    guard !isReleased.exchange(true, ordering: .relaxed) else { return }
    // Said explicitly, since a child process made between open and exec may share the descriptor.
    _ = flock(file.descriptor, LOCK_UN)
    try? file.close()
  }

  func checkPlace() throws(SystemError) {
    // One call, since it is made for every group of commits.
    var named = stat()
    try uninterrupted("lstat", file.path) { unsafe lstat(file.path, &named) }
    guard identity.device == named.st_dev, identity.number == named.st_ino else {
      throw SystemError(call: "lstat", path: file.path, code: .staleHandle)
    }
  }

  /// Leaves a note.
  ///
  /// On a full disk there may be none: that must not keep anybody from deleting.
  func leaveNote(_ note: String) {
    guard (try? uninterrupted("ftruncate", file.path, { ftruncate(file.descriptor, 0) })) != nil
    else { return }
    try? file.write(SharedBytes(copying: Array(note.utf8)), at: 0)
  }

  /// What the holder left.
  ///
  /// Who has just taken the lock may not have left its note yet: then this is empty, or the note of
  /// the holder before it, so a note counts once it is read twice with some time in between.
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
