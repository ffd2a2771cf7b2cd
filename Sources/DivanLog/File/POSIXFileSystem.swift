#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#else
  import Glibc
#endif

/// The file system of the operating system.
///
/// Every descriptor is closed in child processes (`O_CLOEXEC`) and is greater than 2, so that
/// output of a library to a closed standard stream never ends up in a store.
package struct POSIXFileSystem: FileSystem {
  /// Whether new files are accessible to their owner only; otherwise the umask decides.
  private let isPrivate: Bool

  package init(isPrivate: Bool = true) { self.isPrivate = isPrivate }
}

extension POSIXFileSystem {
  package func open(_ path: String, _ access: FileAccess) throws(SystemError) -> any OpenFile {
    switch access {
    case .reading, .readingOwn:
      // Without `O_NONBLOCK`, opening a pipe would wait for a writer; regular files are unaffected.
      let flags = O_RDONLY | O_NONBLOCK | (access == .readingOwn ? O_NOFOLLOW : 0)
      let descriptor = try openDescriptor(path, flags)
      let file = POSIXFile(path: path, descriptor: descriptor)
      switch try file.status().kind {
      case .file: return file
      case .directory: throw SystemError(call: "open", path: path, code: .isADirectory)
      case .other: throw SystemError(call: "open", path: path, code: .invalidArgument)
      }
    case .creating:
      let descriptor = try openDescriptor(path, O_RDWR | O_CREAT | O_EXCL, mode: fileMode)
      return POSIXFile(path: path, descriptor: descriptor)
    }
  }

  package func rename(_ path: String, to newPath: String) throws(SystemError) {
    try checkName(newPath, "rename")
    try onName(path, "rename") { unsafe systemRename(path, newPath) }
  }

  package func link(_ path: String, to newPath: String) throws(SystemError) {
    try checkName(newPath, "link")
    try onName(path, "link") { unsafe systemLink(path, newPath) }
  }

  package func remove(_ path: String) throws(SystemError) {
    do {
      try onName(path, "unlink") { unsafe unlink(path) }
    } catch  where error.code == .notPermitted {
      // Darwin reports this error for a directory.
      guard try status(path).kind == .directory else { throw error }
      throw SystemError(call: "unlink", path: path, code: .isADirectory)
    }
  }

  package func makeDirectory(_ path: String) throws(SystemError) {
    try onName(path, "mkdir") { unsafe mkdir(path, isPrivate ? 0o700 : 0o777) }
  }

  private var fileMode: mode_t { isPrivate ? 0o600 : 0o666 }

  package func removeDirectory(_ path: String) throws(SystemError) {
    try onName(path, "rmdir") { unsafe rmdir(path) }
  }

  package func status(_ path: String) throws(SystemError) -> FileStatus {
    var information = stat()
    try onName(path, "stat") { unsafe stat(path, &information) }
    return FileStatus(information)
  }

  package func entry(_ path: String) throws(SystemError) -> FileStatus {
    var information = stat()
    try onName(path, "lstat") { unsafe lstat(path, &information) }
    return FileStatus(information)
  }

  package func absolutePath(_ path: String) throws(SystemError) -> String {
    // The first system call with an invalid path reports it.
    guard !path.isEmpty, !path.utf8.contains(0) else { return path }
    var absolute = path.hasPrefix("/") ? "" : try canonicalPath(".")
    if absolute == "/" { absolute = "" }
    var last = ""
    for part in path.utf8.split(separator: UInt8(ascii: "/")) where !part.elementsEqual(".".utf8) {
      last = String(Substring(part))
      absolute += "/" + last
    }
    // Symbolic links decide where a final `..` leads, and so which directory contains it.
    if last == ".." { return try canonicalPath(path) }
    return absolute.isEmpty ? "/" : absolute
  }

  package func flushDirectory(_ path: String) throws(SystemError) {
    let descriptor = try openDescriptor(path, O_RDONLY | O_DIRECTORY)
    // Nothing was written through it, so closing it has nothing to report.
    defer { _ = systemClose(descriptor) }
    #if canImport(Darwin)
      try flushDescriptor(descriptor, path)
    #else
      try uninterrupted("fsync", path) { fsync(descriptor) }
    #endif
  }

  package func canonicalPath(_ path: String) throws(SystemError) -> String {
    try checkName(path, "realpath")
    guard let text = unsafe realpath(path, nil) else {
      throw SystemError(call: "realpath", path: path, code: .init(rawValue: errno))
    }
    // The system allocated it for this caller, and it ends in a zero.
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }

  package func list(_ path: String) throws(SystemError) -> [String] {
    let descriptor = try openDescriptor(path, O_RDONLY | O_DIRECTORY)
    guard let stream = unsafe fdopendir(descriptor) else {
      let code = SystemError.Code(rawValue: errno)
      _ = systemClose(descriptor)
      throw SystemError(call: "opendir", path: path, code: code)
    }
    // Closes the descriptor as well.
    defer { _ = unsafe closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else {
        guard errno == 0 else {
          throw SystemError(call: "readdir", path: path, code: .init(rawValue: errno))
        }
        break
      }
      // The name is read in place: an entry may be shorter than its type. It ends in a zero, and a
      // stored property has an offset.
      let offset = unsafe MemoryLayout<dirent>.offset(of: \dirent.d_name).unsafelyUnwrapped
      let name = unsafe String(
        cString: (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self))
      if name != "." && name != ".." { names.append(name) }
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  package func lock(_ path: String, note: String) throws(SystemError) -> FileLockOutcome {
    try lock(path, note: note) { descriptor in flock(descriptor, LOCK_EX | LOCK_NB) }
  }

  /// Locks a file with `take`, which makes the system call, so that tests can replace it.
  func lock(
    _ path: String, note: String, _ take: (_ descriptor: Int32) -> Int32
  ) throws(SystemError) -> FileLockOutcome {
    while true {
      let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK
      let descriptor = try openDescriptor(path, flags, mode: fileMode)
      try checkLockFile(descriptor, path)
      let lock = POSIXFileLock(POSIXFile(path: path, descriptor: descriptor))
      do {
        try uninterrupted("flock", path) { take(descriptor) }
      } catch  where error.code.rawValue == EWOULDBLOCK {
        return .held(note: lock.readNote())
      }
      do {
        try lock.checkPath()
      } catch  where error.code == .notFound || error.code == .staleHandle {
        // The file was removed between being opened and being locked. A lock on a file that no
        // other process can find excludes none.
        continue
      }
      lock.leaveNote(note)
      return .acquired(lock)
    }
  }
}

/// Throws if a note in a lock file would change a file that has another purpose.
///
/// The descriptor is then closed.
private func checkLockFile(_ descriptor: Int32, _ path: String) throws(SystemError) {
  var information = stat()
  do throws(SystemError) {
    try uninterrupted("fstat", path) { unsafe fstat(descriptor, &information) }
    guard FileStatus(information).kind == .file else {
      throw SystemError(call: "lock", path: path, code: .invalidArgument)
    }
    guard information.st_nlink <= 1 else {
      throw SystemError(call: "lock", path: path, code: .tooManyLinks)
    }
  } catch {
    _ = systemClose(descriptor)
    throw error
  }
}

/// Opens a descriptor that child processes do not inherit and that is no standard stream.
private func openDescriptor(
  _ path: String, _ flags: Int32, mode: mode_t = 0
) throws(SystemError) -> Int32 {
  let descriptor = try onName(path, "open") { unsafe systemOpen(path, flags | O_CLOEXEC, mode) }
  guard descriptor <= 2 else { return descriptor }
  defer { _ = systemClose(descriptor) }
  return try uninterrupted("dup", path) { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) }
}

/// Refuses a name that the system would silently truncate.
private func checkName(_ path: String, _ call: String) throws(SystemError) {
  guard !path.utf8.contains(0) else {
    throw SystemError(call: call, path: path, code: .invalidArgument)
  }
}

/// Makes a call that takes a name.
@discardableResult
private func onName(
  _ path: String, _ call: String, _ body: () -> Int32
) throws(SystemError) -> Int32 {
  try checkName(path, call)
  return try uninterrupted(call, path, body)
}

// Inside the type, methods of the same names hide the system's functions.

private func systemOpen(_ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t) -> Int32 {
  unsafe open(path, flags, mode)
}

private func systemRename(
  _ path: UnsafePointer<CChar>, _ newPath: UnsafePointer<CChar>
) -> Int32 {
  unsafe rename(path, newPath)
}

private func systemLink(_ path: UnsafePointer<CChar>, _ newPath: UnsafePointer<CChar>) -> Int32 {
  unsafe link(path, newPath)
}

func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
