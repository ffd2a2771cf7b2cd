import DivanLog

/// Access to files that a user names, outside of stores.
struct UserFiles {
  let fileSystem: any FileSystem
  /// Distinguishes files that are written for the same name at the same time.
  let nonce: UInt64

  /// The number of bytes in a read.
  static let readSize = 256 << 10
}

extension UserFiles {
  /// Writes the pieces from `next` to a new file.
  ///
  /// The file gets its name when it is complete and flushed.
  ///
  /// Until then it has another name next to it. If several are written for the same name at the
  /// same time, the first complete one gets the name.
  func write(_ path: String, _ next: () throws -> SharedBytes?) throws {
    // `next` may take long, and may change the working directory.
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

  /// Opens a file for reading; returns it with its size in bytes.
  func open(_ path: String) throws(DatabaseError) -> (file: any OpenFile, size: Int) {
    try translate { () throws(SystemError) in
      let file = try fileSystem.open(path, .reading)
      return (file, try file.size())
    }
  }

  /// Returns the next bytes of a file; empty at its end.
  func read(_ file: any OpenFile, at offset: Int) throws(DatabaseError) -> SharedBytes {
    try translate { () throws(SystemError) in try file.read(UserFiles.readSize, at: offset) }
  }

  private func translate<R>(_ body: () throws(SystemError) -> R) throws(DatabaseError) -> R {
    do { return try body() } catch { throw DatabaseError(error) }
  }
}
