import Synchronization

extension AttachmentFiles {
  private var fileSystem: any FileSystem { directory.fileSystem }

  /// Makes an empty temporary file with a name that no other writer of this opening has.
  func makeTemporary(in session: Int) throws(LogError) -> any OpenFile {
    try state.withLock { (state) throws(LogError) in
      try state.requireOpen(session)
      try directory.checkPath()
      while true {
        let number = state.nextTemporary
        state.nextTemporary += 1
        let path = "\(directory.path(of: .temporaries))/attachment-\(number)"
        do throws(SystemError) {
          let file = try fileSystem.open(path, .creating)
          state.temporaries.insert(path)
          return file
        } catch  where error.code == .exists && number < 1 << 20 {
          // The file of some other program: the next number may be free.
        } catch {
          throw .system(error)
        }
      }
    }
  }

  /// Removes a temporary file; if that fails, the next opening removes it.
  func removeTemporary(_ path: String) {
    state.withLock { state in
      guard state.temporaries.remove(path) != nil else { return }
      if (try? directory.checkPath()) != nil { try? fileSystem.remove(path) }
    }
  }

  /// Ends the making and naming of files, and removes temporary files; returns the pinned blobs.
  ///
  /// Writers that continue get ``LogError/closed``. Pins have no effect from now on.
  package func close() -> Set<SHA256.Digest> {
    state.withLock { state in
      state.isClosed = true
      removeTemporaries(&state)
      return Set(state.pins.keys)
    }
  }

  /// Removes the temporary files of all writers, which are ended.
  func removeTemporaries(_ state: inout State) {
    if !state.temporaries.isEmpty, (try? directory.checkPath()) != nil {
      for path in state.temporaries.sorted() { try? fileSystem.remove(path) }
    }
    state.temporaries = []
  }

  /// Gives a whole, flushed temporary file the name of its blob, and flushes the names.
  ///
  /// The blob must be pinned. A file that has the name already is replaced: it has not
  /// been read, and may be damaged.
  func install(
    _ temporary: String, as digest: SHA256.Digest, in session: Int
  ) throws(LogError) {
    let name = name(of: digest)
    try state.withLock { (state) throws(LogError) in
      try state.requireOpen(session)
      if let refusal = state.refusal { throw refusal }
      try directory.checkPath()
      state.failureCount = state.failureCount ?? directory.failureCount
      try attempt { () throws(SystemError) in
        if !state.durableFolders.contains(name.folder) {
          try makeDirectory(root)
          try makeDirectory(path(ofFolder: name.folder))
        }
        try fileSystem.rename(temporary, to: path(of: digest))
      }
      state.temporaries.remove(temporary)
    }
    try flushNames(of: digest, in: session)
  }

  /// Flushes the names that lead to a blob, which must be pinned and flushed in its file.
  func flushNames(of digest: SHA256.Digest, in session: Int) throws(LogError) {
    let name = name(of: digest)
    // The folder is not empty, so no thread removes it.
    try flushDirectory(path(ofFolder: name.folder))
    let (isRootDurable, isFolderDurable, failureCount) = state.withLock { state in
      (state.isRootDurable, state.durableFolders.contains(name.folder), state.failureCount)
    }
    if !isFolderDurable { try flushDirectory(root) }
    if !isRootDurable {
      try refusing { () throws(LogError) in try directory.flush(since: failureCount) }
    }
    try state.withLock { (state) throws(LogError) in
      // The failure of another thread's flush may be that of these names.
      if session == state.session, let refusal = state.refusal { throw refusal }
      // What an earlier session flushed, another process may have removed since.
      guard session == state.session else { return }
      state.isRootDurable = true
      if state.durable.count >= settings.durableCountLimit { state.durable.removeAll() }
      state.durable.insert(digest)
      state.durableFolders.insert(name.folder)
    }
  }

  private func flushDirectory(_ path: String) throws(LogError) {
    try refusing { () throws(LogError) in
      try attempt { () throws(SystemError) in try fileSystem.flushDirectory(path) }
    }
  }

  /// Runs `flush`; if it fails, no file is named any more, unless there was nothing to flush.
  private func refusing(_ flush: () throws(LogError) -> Void) throws(LogError) {
    do throws(LogError) {
      try flush()
    } catch .system(let error) where error.code == .notFound || error.isLackOfDescriptors {
      throw .system(error)
    } catch {
      state.withLock { $0.refusal = error }
      throw error
    }
  }

  /// Makes a directory, unless it exists.
  private func makeDirectory(_ path: String) throws(SystemError) {
    do { try fileSystem.makeDirectory(path) } catch  where error.code == .exists {}
  }

  /// Removes the file of a blob; returns false if the blob is pinned, unless this was closed.
  ///
  /// A file that does not exist counts as removed. Its blob stays readable through open files. The
  /// caller has the writer lock, and knows that no document durably refers to the blob. Nothing is
  /// flushed: see ``flushRemovals()``.
  package func remove(
    _ digest: SHA256.Digest
  ) throws(LogError) -> Bool {
    try state.withLock { (state) throws(LogError) in
      guard state.isClosed || state.pins[digest] == nil else { return false }
      try directory.checkPath()
      // Before the attempt: even after an error the file may be gone.
      state.durable.remove(digest)
      state.changedFolders.insert(name(of: digest).folder)
      do throws(SystemError) {
        try fileSystem.remove(path(of: digest))
      } catch  where error.code == .notFound {
      } catch {
        throw .system(error)
      }
      return true
    }
  }

  /// Flushes the folders in which files were removed.
  ///
  /// No guarantee depends on it: a file that comes back after a loss of power is removed again.
  package func flushRemovals() throws(LogError) {
    let folders = state.withLock { state in
      defer { state.changedFolders = [] }
      return state.changedFolders.sorted()
    }
    for folder in folders {
      do throws(LogError) {
        try flushDirectory(path(ofFolder: folder))
      } catch .system(let error) where error.code == .notFound {
        // The folder was removed, too.
      }
    }
  }

  /// Removes the empty folders.
  package func removeEmptyFolders() throws(LogError) {
    for folder in try list(root) where AttachmentName.isFolder(folder) {
      try state.withLock { (state) throws(LogError) in
        try directory.checkPath()
        // Before the attempt: even after an error the folder may be gone.
        let wasDurable = state.durableFolders.remove(folder) != nil
        do throws(SystemError) {
          try fileSystem.removeDirectory(path(ofFolder: folder))
        } catch  where error.code == .directoryNotEmpty || error.code == .exists {
          if wasDurable { state.durableFolders.insert(folder) }
        } catch  where error.code == .notFound || error.code == .notADirectory {
          // A file with the name of a folder is not the store's.
        } catch {
          throw .system(error)
        }
      }
    }
  }

  /// Returns the names in a directory of attachments; none if it does not exist.
  func list(_ path: String) throws(LogError) -> [String] {
    do throws(SystemError) {
      return try fileSystem.list(path)
    } catch  where error.code == .notFound {
      return []
    } catch {
      throw .system(error)
    }
  }
}
