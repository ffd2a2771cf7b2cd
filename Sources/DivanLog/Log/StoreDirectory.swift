/// The directory of a store: its files, and how they are made.
package struct StoreDirectory: Sendable {
  package let fileSystem: any FileSystem
  package let path: String
  /// The cipher that the store's files are sealed with; nil if they are not.
  package let cipher: (any Cipher)?
  /// Whether there is a cipher, which each read of a record asks: a flag is cheaper to copy.
  package let isEncrypted: Bool
  /// The lock on the store, which all copies of this value share.
  private let held = HeldLock()
  /// The flushes of the directory, which all copies of this value share.
  private let flushes = DirectoryFlushes()

  package init(
    _ path: String, on fileSystem: any FileSystem, cipher: (any Cipher)? = nil
  ) {
    self.path = path
    self.fileSystem = fileSystem
    self.cipher = cipher
    isEncrypted = cipher != nil
  }

  package func path(of name: FileName) -> String { "\(path)/\(name)" }

  /// The path of a file while it is being made.
  package func temporaryPath(of name: FileName) -> String {
    "\(path)/\(FileName.temporaries)/\(name)"
  }
}

extension StoreDirectory {
  /// Returns the files of the store by name, and the names that are not its own.
  package func listing() throws(LogError) -> (files: Set<FileName>, foreign: [String]) {
    var files: Set<FileName> = []
    var foreign: [String] = []
    for name in try attempt({ () throws(SystemError) in try fileSystem.list(path) }) {
      if let known = FileName(name) { files.insert(known) } else { foreign.append(name) }
    }
    return (files, foreign)
  }

  /// Makes a file under its name, whole or not at all.
  ///
  /// The file is built as a temporary, flushed and renamed, and the directory is flushed. Returns
  /// the file, still open. `beforeRename` does what must be done before the file gets its name.
  ///
  /// Throws also if another flush of the directory has failed meanwhile: it may have lost the name.
  package func install(
    _ name: FileName, beforeRename: () throws(LogError) -> Void = {},
    write: (any OpenFile) throws(LogError) -> Void
  ) throws(LogError) -> any OpenFile {
    let failureCount = failureCount
    let file = try installUnflushed(name) { (file) throws(LogError) in
      try write(file)
      try attempt { () throws(SystemError) in try file.flush() }
      try beforeRename()
    }
    try flush(since: failureCount)
    return file
  }

  /// Makes a file as ``install(_:beforeRename:write:)`` does, but without any flush.
  func installUnflushed(
    _ name: FileName, write: (any OpenFile) throws(LogError) -> Void
  ) throws(LogError) -> any OpenFile {
    try checkPath()
    let (file, temporary) = try createTemporary(for: name)
    do throws(LogError) {
      try write(file)
      try checkPath()
      try attempt { () throws(SystemError) in
        try fileSystem.rename(temporary, to: path(of: name))
      }
      file.didRename(to: path(of: name))
    } catch {
      // A temporary that is left behind would keep space that may be lacking. If it cannot be
      // removed either, the next writer removes it.
      if (try? checkPath()) != nil { try? fileSystem.remove(temporary) }
      throw error
    }
    return file
  }

  /// The lock on the store, if this process changes names in it.
  ///
  /// All operations use names, and a name may come to mean something else: if the directory was
  /// renamed, another store may be at its path. The lock must therefore be at its path before a
  /// name is changed.
  package var lock: (any FileLock)? {
    get { held.lock }
    nonmutating set { held.lock = newValue }
  }

  /// Releases the lock of a store that is being suspended.
  ///
  /// From now on no name is changed: the store may belong to another process.
  package func giveUpLock() { held.giveUp() }

  /// Throws if this is no longer the directory that was locked, or if its lock was given up.
  package func checkPath() throws(LogError) {
    guard !held.isGivenUp else { throw .suspended }
    let lock = lock
    try attempt { () throws(SystemError) in try lock?.checkPath() }
  }

  /// Makes an empty temporary, and removes one that an earlier attempt may have left.
  ///
  /// A folder of that name is not Divan's and stays. The temporary then has a number as its name.
  private func createTemporary(
    for name: FileName
  ) throws(LogError) -> (file: any OpenFile, path: String) {
    let path = temporaryPath(of: name)
    return try attempt { () throws(SystemError) in
      do throws(SystemError) {
        return (try fileSystem.open(path, .creating), path)
      } catch  where error.code == .exists {
        do throws(SystemError) {
          try fileSystem.remove(path)
        } catch {
          guard (try? fileSystem.entry(path).kind) == .directory else { throw error }
          return try createNumbered()
        }
        return (try fileSystem.open(path, .creating), path)
      }
    }
  }

  /// Makes an empty temporary with the first number that is free.
  private func createNumbered() throws(SystemError) -> (file: any OpenFile, path: String) {
    var number = 1
    while true {
      let path = "\(path)/\(FileName.temporaries)/file-\(number)"
      do throws(SystemError) {
        return (try fileSystem.open(path, .creating), path)
      } catch  where error.code == .exists && number < 1000 {
        number += 1
      }
    }
  }

  /// Makes the file that is released when the disk is full, unless it exists.
  ///
  /// It contains bytes that no file system compresses or omits. Without space for it, the store
  /// works just the same until it is needed.
  package func makeReserve(size: Int) {
    // If it is unknown whether it exists, a call that might fail is not worth making.
    guard size > 0, (try? fileSystem.exists(path(of: .reserve))) == false else { return }
    var state = 0x9E37_79B9_7F4A_7C15 as UInt64
    var writer = ByteWriter(capacity: size)
    while writer.count < size {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      writer.append(state ^ state >> 29)
    }
    let bytes = writer.sharedCopy
    let file = try? install(.reserve) { (file) throws(LogError) in
      try attempt { () throws(SystemError) in try file.write(bytes, at: 0) }
    }
    try? file?.close()
  }

  /// Makes the file that has the next opening check the inner pages of the index.
  package func requestCheck() throws(LogError) {
    let file = try install(.check) { _ in }
    try attempt { () throws(SystemError) in try file.close() }
  }

  /// Replaces `HEAD`.
  package func replaceHead(_ head: Head) throws(LogError) {
    let file = try install(.head) { (file) throws(LogError) in
      try attempt { () throws(SystemError) in try file.write(head.encode(), at: 0) }
    }
    try attempt { () throws(SystemError) in try file.close() }
  }

  /// Reads `HEAD`; nil if there is none.
  ///
  /// Damage to it is only a loss of evidence, so it is returned and not thrown.
  package func head() throws(LogError) -> (head: Head?, problem: LogError?) {
    let path = path(of: .head)
    let bytes: SharedBytes
    do throws(SystemError) {
      bytes = try fileSystem.contents(of: path, limit: 1 << 16, .readingOwn)
    } catch  where error.code == .notFound {
      return (nil, nil)
    } catch  where error.code == .fileTooLarge {
      return (nil, .damaged(Damage(path: path, offset: 0, reason: "HEAD has a wrong size")))
    } catch {
      throw .system(error)
    }
    do throws(LogError) {
      return (try Head.decode(bytes, path: path), nil)
    } catch .newerFormat(let path, let version) {
      throw .newerFormat(path: path, version: version)
    } catch {
      return (nil, error)
    }
  }

  /// Reads the marks in `FLUSHED`; none if there is no such file, or nothing is in it yet.
  ///
  /// Damage to it is only a loss of evidence, so it is returned and not thrown. Torn marks are
  /// ignored as long as one mark is whole.
  package func flushMarks() throws(LogError) -> (marks: [FlushMark], problem: LogError?) {
    let path = path(of: .flushed)
    var problem: LogError?
    // If all marks look torn, they may have been read while they were written.
    for _ in 0..<8 {
      problem = nil
      let bytes: SharedBytes
      do throws(SystemError) {
        bytes = try fileSystem.contents(of: path, limit: 1 << 16, .readingOwn)
      } catch  where error.code == .notFound {
        return ([], nil)
      } catch  where error.code == .fileTooLarge {
        return (
          [], .damaged(Damage(path: path, offset: 0, reason: "FLUSHED has a wrong size"))
        )
      } catch {
        throw .system(error)
      }
      var marks: [FlushMark] = []
      for offset in FlushMark.offsets where offset < bytes.count {
        let rest = bytes.suffix(from: offset)
        let block = rest.prefix(min(rest.count, FlushMark.size))
        guard !FlushMark.isBlank(block) else { continue }
        do throws(LogError) {
          marks.append(try FlushMark.decode(block, path: path))
        } catch .newerFormat(let path, let version) {
          throw .newerFormat(path: path, version: version)
        } catch {
          problem = error
        }
      }
      if !marks.isEmpty {
        // The mark that proves the most comes first, since messages name that one.
        return (marks.sorted { $0.end.commit > $1.end.commit }, nil)
      }
      if problem == nil { break }
    }
    return ([], problem)
  }

  /// Removes a file; it is no error if the file does not exist.
  ///
  /// An earlier attempt that failed at a later step may have removed it.
  package func remove(_ name: FileName) throws(LogError) {
    try checkPath()
    do throws(SystemError) {
      try fileSystem.remove(path(of: name))
    } catch  where error.code == .notFound {
      return
    } catch {
      throw .system(error)
    }
  }

  /// The number of flushes of the directory that have failed: see ``flush(since:)``.
  package var failureCount: Int { flushes.failureCount }

  /// Flushes the directory.
  ///
  /// Throws also if another flush has failed since ``failureCount`` was `count`: then the names
  /// that were changed since may not be durable, although this flush succeeds.
  package func flush(since count: Int? = nil) throws(LogError) {
    try attempt { () throws(SystemError) in
      try flushes.flush(path, on: fileSystem, since: count)
    }
  }
}

/// Runs system calls, and converts their errors to errors of the log.
package func attempt<R>(_ body: () throws(SystemError) -> R) throws(LogError) -> R {
  do { return try body() } catch { throw .system(error) }
}
