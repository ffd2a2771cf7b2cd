import DivanLog

/// The files that a user names, beside stores.
struct UserFiles {
  let fileSystem: any FileSystem
  /// Tells the files apart that are written for the same name at the same time.
  let nonce: UInt64

  /// How many bytes are read at a time.
  static let readSize = 256 << 10
}

extension Store {
  /// Where files are that a user names: on the machine's disk, also if the store is in memory, or on a
  /// simulated disk if the store is.
  var userFiles: UserFiles {
    let own = directory.fileSystem
    return UserFiles(
      fileSystem: own is MemoryFileSystem
        ? POSIXFileSystem(isPrivate: configuration.isPrivate) : own, nonce: configuration.random())
  }
}

extension UserFiles {
  /// Writes the pieces that `next` gives to a new file, which has its name when it is whole and flushed.
  ///
  /// Until then it has one beside it. Of several that are written for the same name at the same time, the
  /// first that is whole gets it.
  func write(_ path: String, _ next: () throws -> SharedBytes?) throws {
    // What `next` does may take long, and change the working directory.
    let path = try translate { () throws(SystemError) in try fileSystem.absolutePath(path) }
    let unfinished = "\(path).\(String(nonce, radix: 16)).unfinished"
    let file = try translate { () throws(SystemError) in
      try refuseTaken(path)
      return try fileSystem.open(unfinished, .creating)
    }
    var name = unfinished
    do {
      var size = 0
      while let piece = try next() {
        try translate { () throws(SystemError) in try file.write(piece, at: size) }
        size += piece.count
      }
      try translate { () throws(SystemError) in
        try file.flush()
        try file.close()
        try refuseTaken(path)
        try fileSystem.rename(unfinished, to: path)
        name = path
        try fileSystem.flushDirectory(parentDirectory(of: path))
      }
    } catch {
      // What is left of the attempt is no file that anybody asked for.
      try? file.close()
      try? fileSystem.remove(name)
      throw error
    }
  }

  private func refuseTaken(_ path: String) throws(SystemError) {
    guard try !fileSystem.isTaken(path) else {
      throw SystemError(call: "create", path: path, code: .exists)
    }
  }

  /// Opens a file to be read from its beginning; says how many bytes it has.
  func open(_ path: String) throws(DatabaseError) -> (file: any OpenFile, size: Int) {
    try translate { () throws(SystemError) in
      let file = try fileSystem.open(path, .reading)
      return (file, try file.size())
    }
  }

  /// The next bytes of a file; none at its end.
  func read(_ file: any OpenFile, at offset: Int) throws(DatabaseError) -> SharedBytes {
    try translate { () throws(SystemError) in try file.read(UserFiles.readSize, at: offset) }
  }

  private func translate<R>(_ body: () throws(SystemError) -> R) throws(DatabaseError) -> R {
    do { return try body() } catch { throw DatabaseError(error) }
  }
}
