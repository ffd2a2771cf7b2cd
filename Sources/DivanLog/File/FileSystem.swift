/// The file system operations that Divan uses.
///
/// This protocol is between the engine and the system, so that tests can use a file system in
/// memory, or one that fails and loses what was not flushed. Paths are absolute or relative to the
/// working directory, with `/` between components. Only interrupted calls are retried, and nothing
/// is flushed without a request.
package protocol FileSystem: Sendable {
  /// Opens a file; throws if the path names anything else.
  func open(_ path: String, _ access: FileAccess) throws(SystemError) -> any OpenFile

  /// Renames a file, replacing any file at the new path; atomic within one directory tree.
  ///
  /// A directory can be renamed too, to a free name or over an empty directory.
  func rename(_ path: String, to newPath: String) throws(SystemError)

  /// Gives a file a second name (a hard link); throws if that name is taken.
  func link(_ path: String, to newPath: String) throws(SystemError)

  /// Removes a file's name; open files and mappings of it stay readable.
  func remove(_ path: String) throws(SystemError)

  func makeDirectory(_ path: String) throws(SystemError)

  /// Removes a directory, which must be empty.
  func removeDirectory(_ path: String) throws(SystemError)

  /// Returns the names in a directory, sorted by their bytes, without `.` and `..`.
  func list(_ path: String) throws(SystemError) -> [String]

  /// Returns the status at a path, and follows symbolic links.
  func status(_ path: String) throws(SystemError) -> FileStatus

  /// Returns the status at a path; a symbolic link itself is neither file nor directory.
  func entry(_ path: String) throws(SystemError) -> FileStatus

  /// Returns the path from the root on, which does not depend on the working directory.
  ///
  /// Symbolic links stay in it. An empty path stays empty.
  func absolutePath(_ path: String) throws(SystemError) -> String

  /// Flushes a directory's entries, so that the names in it survive a loss of power.
  func flushDirectory(_ path: String) throws(SystemError)

  /// Returns the path, which must exist, without symbolic links, `.` and `..`.
  func canonicalPath(_ path: String) throws(SystemError) -> String

  /// Locks a file against every other holder, creating it if needed, or returns the holder's note.
  ///
  /// It never waits. `note` is stored in the file for later callers to read, unless the disk is
  /// full; only its first 1,024 bytes are read. A symbolic link, or a file with other names, is
  /// refused: the note would be written into a file of another program.
  func lock(_ path: String, note: String) throws(SystemError) -> FileLockOutcome
}

/// The mode in which a file is opened.
package enum FileAccess: Sendable {
  /// For reading; it must exist.
  case reading
  /// For reading; it must exist, and not be a symbolic link.
  case readingOwn
  /// For reading and writing; it must not exist yet.
  case creating
}

package struct FileStatus: Equatable, Sendable {
  package enum Kind: Sendable { case file, directory, other }
  package let kind: Kind
  package let size: Int

  package init(kind: Kind, size: Int) {
    self.kind = kind
    self.size = size
  }
}

package enum FileLockOutcome: Sendable {
  case acquired(any FileLock)
  /// Another holder has the lock and left this note.
  case held(note: String)

  /// The number of bytes of a note that are read.
  package static let noteSizeLimit = 1024
}

/// A lock that is held until it is released or deallocated.
package protocol FileLock: AnyObject, Sendable {
  func release()

  /// Throws unless the locked file is still at the path where it was locked.
  ///
  /// If not, its directory was moved or removed, and another directory may have the path.
  func checkPath() throws(SystemError)
}

extension FileLock {
  /// The default for file systems that only this process can access.
  package func checkPath() {}
}

/// An open file.
///
/// You can use it from several threads. It is closed with its last reference; ``close()`` closes it
/// earlier, and only ``close()`` may be called afterwards.
package protocol OpenFile: AnyObject, Sendable {
  var path: String { get }

  /// Notes that the file has its final name, so that its errors name that one.
  func didRename(to path: String)

  /// Reads into `buffer` from `offset` on; reads fewer bytes than fit only at the end of the file.
  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int
  ) throws(SystemError) -> Int

  /// Writes all of `bytes` at `offset`; after an error, it is unknown how many were written.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError)

  func size() throws(SystemError) -> Int

  /// Returns the first offset from `offset` on where nonzero bytes may be; nil if there is none.
  ///
  /// The result depends on what the system reports about holes.
  func dataOffset(from offset: Int) throws(SystemError) -> Int?

  /// Flushes the bytes and the metadata that locates them, as durably as the system allows.
  func flush() throws(SystemError)

  /// Maps the first `count` bytes, which stay readable after the file was closed or removed.
  ///
  /// The file must have at least `count` bytes, or this throws, and they must not change
  /// afterwards.
  func map(_ count: Int) throws(SystemError) -> SharedBytes

  func close() throws(SystemError)
}

extension OpenFile {
  package func didRename(to path: String) {}

  package func dataOffset(from offset: Int) throws(SystemError) -> Int? { offset }

  /// Reads up to `count` bytes from `offset` on; fewer only at the end of the file.
  package func read(_ count: Int, at offset: Int) throws(SystemError) -> SharedBytes {
    unsafe try SharedBytes(capacity: count) { (buffer) throws(SystemError) in
      unsafe try read(
        into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: offset)
    }
  }

  package func write(_ bytes: SharedBytes, at offset: Int) throws(SystemError) {
    unsafe try bytes.withUnsafeBytes { (buffer) throws(SystemError) in
      unsafe try write(buffer, at: offset)
    }
  }

  /// Appends up to `count` bytes from `offset` on to `writer`; fewer only at the end of the file.
  ///
  /// Returns the number of bytes.
  package func read(
    _ count: Int, at offset: Int, into writer: inout ByteWriter
  ) throws(SystemError) -> Int {
    unsafe try writer.append(upTo: count) { (buffer) throws(SystemError) in
      unsafe try read(into: buffer, at: offset)
    }
  }

  package func write(_ bytes: borrowing ByteWriter, at offset: Int) throws(SystemError) {
    unsafe try bytes.withUnsafeBytes { (buffer) throws(SystemError) in
      unsafe try write(buffer, at: offset)
    }
  }
}

extension FileSystem {
  // The defaults for file systems without symbolic links and without a working directory.
  package func entry(_ path: String) throws(SystemError) -> FileStatus { try status(path) }
  package func absolutePath(_ path: String) -> String { path }

  /// Whether anything is at a path, including a dangling link.
  package func isTaken(_ path: String) throws(SystemError) -> Bool {
    do {
      _ = try entry(path)
      return true
    } catch  where error.code == .notFound || error.code == .notADirectory {
      return false
    }
  }

  /// Whether anything is at a path, following symbolic links.
  package func exists(_ path: String) throws(SystemError) -> Bool {
    do {
      _ = try status(path)
      return true
    } catch  where error.code == .notFound || error.code == .notADirectory {
      return false
    }
  }

  /// Returns all bytes of a file; throws if there are more than `limit`.
  package func contents(
    of path: String, limit: Int, _ access: FileAccess = .reading
  ) throws(SystemError) -> SharedBytes {
    let file = try open(path, access)
    let size = try file.size()
    guard size <= limit else {
      throw SystemError(call: "read", path: path, code: .fileTooLarge)
    }
    let bytes = try file.read(size, at: 0)
    try file.close()
    return bytes
  }
}
