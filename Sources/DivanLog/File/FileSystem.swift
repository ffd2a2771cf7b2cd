/// Everything that Divan asks of a file system.
///
/// One of these stands between the engine and the system, so that tests can put one in memory, or
/// one that fails and loses what was not flushed, in its place. Paths are absolute or relative to
/// the working directory, with `/` between components. Nothing is retried but an interrupted call,
/// and nothing is ever flushed that was not asked for.
package protocol FileSystem: Sendable {
  /// Opens a file; anything else that has the name is refused.
  func open(_ path: String, _ access: FileAccess) throws(SystemError) -> any OpenFile

  /// Gives a file another name, replacing what had it; atomic within one directory tree.
  ///
  /// A directory can be renamed too, to a free name or over an empty directory.
  func rename(_ path: String, to newPath: String) throws(SystemError)

  /// Gives a file a second name. Fails if that name is taken.
  func link(_ path: String, to newPath: String) throws(SystemError)

  /// Takes a file's name away. Its bytes stay readable to those who have it open or mapped.
  func remove(_ path: String) throws(SystemError)

  func makeDirectory(_ path: String) throws(SystemError)

  /// Removes a directory, which must be empty.
  func removeDirectory(_ path: String) throws(SystemError)

  /// The names in a directory, sorted by their bytes, without `.` and `..`.
  func list(_ path: String) throws(SystemError) -> [String]

  /// What stands under a name, symbolic links followed.
  func status(_ path: String) throws(SystemError) -> FileStatus

  /// What stands under a name: of a symbolic link the link itself, which is neither file nor directory.
  func entry(_ path: String) throws(SystemError) -> FileStatus

  /// The path from the root on, so that it means the same whatever becomes the working directory.
  ///
  /// Symbolic links stay in it. An empty path stays empty.
  func absolutePath(_ path: String) throws(SystemError) -> String

  /// Flushes a directory's entries, so that the names in it survive a loss of power.
  func flushDirectory(_ path: String) throws(SystemError)

  /// The path without symbolic links, `.` and `..`. The file must exist.
  func canonicalPath(_ path: String) throws(SystemError) -> String

  /// Locks a file, which is made if need be, against every other holder, or says who holds it.
  ///
  /// It never waits. `note` is left in the file for whoever comes next to read, unless the disk is
  /// full; of a longer one, the first 1,024 bytes are told. A symbolic link, and a file that has other
  /// names too, is refused: the note would be written into what belongs to others.
  func lock(_ path: String, note: String) throws(SystemError) -> FileLockOutcome
}

/// How a file is to be opened.
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
  /// Bytes that the file takes on the medium, as far as the system tells.
  package let allocatedSize: Int

  package init(kind: Kind, size: Int, allocatedSize: Int) {
    self.kind = kind
    self.size = size
    self.allocatedSize = allocatedSize
  }
}

package enum FileLockOutcome: Sendable {
  case acquired(any FileLock)
  /// Somebody else holds it, who left this note.
  case held(note: String)

  /// How many bytes of a note are read.
  package static let noteSizeLimit = 1024
}

/// A lock that is held until it is released or forgotten.
package protocol FileLock: AnyObject, Sendable {
  func release()

  /// Throws unless the file that is locked still stands under the name by which it was.
  ///
  /// Otherwise its directory was moved or removed, and perhaps another one stands in its place.
  func checkPlace() throws(SystemError)
}

extension FileLock {
  /// Of file systems that nobody else has access to.
  package func checkPlace() {}
}

/// A file that is open.
///
/// May be used from several threads. It is closed with its last reference; ``close()`` does it
/// earlier, and nothing may be asked of it afterwards but ``close()``.
package protocol OpenFile: AnyObject, Sendable {
  var path: String { get }

  /// Reads into `buffer` from `offset` on; fewer bytes than fit only where the file ends.
  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int
  ) throws(SystemError) -> Int

  /// Writes all of `bytes` at `offset`. After an error, how much was written is unknown.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError)

  func size() throws(SystemError) -> Int

  /// The first place from `offset` on where there may be other bytes than zeros, as far as the system tells; nil if
  /// there is none.
  func dataOffset(from offset: Int) throws(SystemError) -> Int?

  /// Flushes the file's bytes, and what is needed to find them, as far as the system can tell.
  func flush() throws(SystemError)

  /// The first `count` bytes as memory, which stays readable after the file was closed or removed.
  ///
  /// The file must have as many now, or this throws, and they must not change afterwards.
  func map(_ count: Int) throws(SystemError) -> SharedBytes

  func close() throws(SystemError)
}

extension OpenFile {
  package func dataOffset(from offset: Int) throws(SystemError) -> Int? { offset }

  /// Up to `count` bytes from `offset` on; fewer only where the file ends.
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

  /// Adds up to `count` bytes from `offset` on to what `writer` holds; fewer only where the file ends.
  ///
  /// Returns how many.
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
  // Of file systems without symbolic links and without a working directory.
  package func entry(_ path: String) throws(SystemError) -> FileStatus { try status(path) }
  package func absolutePath(_ path: String) -> String { path }

  /// Whether anything stands under a name, a link that leads nowhere included.
  package func isTaken(_ path: String) throws(SystemError) -> Bool {
    do {
      _ = try entry(path)
      return true
    } catch  where error.code == .notFound || error.code == .notADirectory {
      return false
    }
  }

  /// Whether anything stands under a name.
  package func exists(_ path: String) throws(SystemError) -> Bool {
    do {
      _ = try status(path)
      return true
    } catch  where error.code == .notFound || error.code == .notADirectory {
      return false
    }
  }

  /// All bytes of a file, refused above `limit`.
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
