/// The directory of a store: which files it holds, and how one gets there.
package struct StoreDirectory: Sendable {
  package let fileSystem: any FileSystem
  package let path: String
  /// The lock on the store, of whoever changes names in it.
  ///
  /// All is done by name, and names may come to mean something else: if the directory was renamed, another
  /// store may stand under its path. So before a name is changed, the lock must be in its place.
  package var lock: (any FileLock)?

  package init(_ path: String, on fileSystem: any FileSystem) {
    self.path = path
    self.fileSystem = fileSystem
  }

  package func path(of name: FileName) -> String { "\(path)/\(name)" }

  /// Where a file stands while it is being made.
  package func temporaryPath(of name: FileName) -> String {
    "\(path)/\(FileName.temporaries)/\(name)"
  }
}

extension StoreDirectory {
  /// The files of the store by name, and names that are none of its own.
  package func listing() throws(LogError) -> (files: Set<FileName>, foreign: [String]) {
    var files: Set<FileName> = []
    var foreign: [String] = []
    for name in try attempt({ () throws(SystemError) in try fileSystem.list(path) }) {
      if let known = FileName(name) { files.insert(known) } else { foreign.append(name) }
    }
    return (files, foreign)
  }

  /// Makes a file under its name, whole or not at all: it is built as a temporary, flushed,
  /// renamed, and the directory is flushed.
  ///
  /// Returns the file, still open.
  ///
  /// `beforeRename` does what must have happened before the name is taken.
  package func install(
    _ name: FileName, beforeRename: () throws(LogError) -> Void = {},
    write: (any OpenFile) throws(LogError) -> Void
  ) throws(LogError) -> any OpenFile {
    let file = try place(name) { (file) throws(LogError) in
      try write(file)
      try attempt { () throws(SystemError) in try file.flush() }
      try beforeRename()
    }
    try attempt { () throws(SystemError) in try fileSystem.flushDirectory(path) }
    return file
  }

  /// Makes a file as ``install(_:beforeRename:write:)`` does, but flushes neither it nor the directory.
  func place(
    _ name: FileName, write: (any OpenFile) throws(LogError) -> Void
  ) throws(LogError) -> any OpenFile {
    let temporary = temporaryPath(of: name)
    try checkPlace()
    let file = try create(temporary)
    do throws(LogError) {
      try write(file)
      try checkPlace()
      try attempt { () throws(SystemError) in
        try fileSystem.rename(temporary, to: path(of: name))
      }
    } catch {
      // Left behind, it would keep the space that may be lacking. If it cannot be removed either,
      // the next writer does it.
      if (try? checkPlace()) != nil { try? fileSystem.remove(temporary) }
      throw error
    }
    return file
  }

  /// Throws if this is not the directory any more that was locked.
  package func checkPlace() throws(LogError) {
    try attempt { () throws(SystemError) in try lock?.checkPlace() }
  }

  /// Makes an empty temporary, in place of one that an earlier attempt may have left.
  private func create(_ temporary: String) throws(LogError) -> any OpenFile {
    try attempt { () throws(SystemError) in
      do throws(SystemError) {
        return try fileSystem.open(temporary, .creating)
      } catch  where error.code == .exists {
        try fileSystem.remove(temporary)
        return try fileSystem.open(temporary, .creating)
      }
    }
  }

  /// Makes the file that is released when the disk is full, unless it is there.
  ///
  /// It holds bytes that no file system compresses or leaves out. Without space for it the store is
  /// as good as with it, until it is needed.
  package func makeReserve(size: Int) {
    // Where nothing is known of it, a call that might fail is not worth making.
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

  /// Replaces `HEAD`.
  package func replaceHead(_ head: Head) throws(LogError) {
    let file = try install(.head) { (file) throws(LogError) in
      try attempt { () throws(SystemError) in try file.write(head.encode(), at: 0) }
    }
    try attempt { () throws(SystemError) in try file.close() }
  }

  /// What `HEAD` says; nil if there is none.
  ///
  /// Its damage is the loss of evidence only, so it is returned and not thrown.
  package func head() throws(LogError) -> (head: Head?, problem: LogError?) {
    let path = path(of: .head)
    let bytes: SharedBytes
    do throws(SystemError) {
      bytes = try fileSystem.contents(of: path, limit: 1 << 16, .readingOwn)
    } catch  where error.code == .notFound {
      return (nil, nil)
    } catch  where error.code == .fileTooLarge {
      return (nil, .damaged(Damage(path: path, offset: 0, reason: "HEAD has the wrong size")))
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

  /// What `FLUSHED` says; nothing if there is none, or nothing is in it yet.
  ///
  /// Its damage is the loss of evidence only, so it is returned and not thrown. Marks may be torn, as long as one is not.
  package func flushMarks() throws(LogError) -> (marks: [FlushMark], problem: LogError?) {
    let path = path(of: .flushed)
    var problem: LogError?
    // Where all look torn, they may have been read while they were written.
    for _ in 0..<8 {
      problem = nil
      let bytes: SharedBytes
      do throws(SystemError) {
        bytes = try fileSystem.contents(of: path, limit: 1 << 16, .readingOwn)
      } catch  where error.code == .notFound {
        return ([], nil)
      } catch  where error.code == .fileTooLarge {
        return (
          [], .damaged(Damage(path: path, offset: 0, reason: "FLUSHED has the wrong size"))
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
        // What says most comes first, since it is what a message names.
        return (marks.sorted { $0.end.commit > $1.end.commit }, nil)
      }
      if problem == nil { break }
    }
    return ([], problem)
  }

  /// Removes a file; that it is not there is as good.
  ///
  /// An attempt that failed further on may have removed it before.
  package func remove(_ name: FileName) throws(LogError) {
    try checkPlace()
    do throws(SystemError) {
      try fileSystem.remove(path(of: name))
    } catch  where error.code == .notFound {
      return
    } catch {
      throw .system(error)
    }
  }

  package func flush() throws(LogError) {
    try attempt { () throws(SystemError) in try fileSystem.flushDirectory(path) }
  }
}

/// Runs calls to the system, and says of a failure that it is one of the log's.
package func attempt<R>(_ body: () throws(SystemError) -> R) throws(LogError) -> R {
  do { return try body() } catch { throw .system(error) }
}
