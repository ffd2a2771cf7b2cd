import DivanLog

/// Deletes stores, and the leftovers of interrupted creations and deletions.
struct StoreDeletion {
  /// The purpose of a name next to a store's: the store's name, sixteen digits, and the purpose.
  enum Purpose: String {
    case building, deleting
  }

  let fileSystem: any FileSystem
  /// Distinguishes names that are given at the same time.
  let nonce: UInt64

  init(_ fileSystem: any FileSystem, nonce: UInt64) {
    self.fileSystem = fileSystem
    self.nonce = nonce
  }
}

extension StoreDeletion {
  /// Returns an unused path next to another one.
  func freePath(beside path: String, for purpose: Purpose) throws(SystemError) -> String {
    var number = nonce
    while true {
      let free = "\(path).\(hexadecimal(number)).\(purpose)"
      if try !fileSystem.isTaken(free) { return free }
      number &+= 1
    }
  }

  /// Deletes a store; returns the paths of the files that remain, relative to its directory.
  func delete(at path: String) throws(DatabaseError) -> [String] {
    let canonical: String
    do throws(SystemError) {
      // A symbolic link is kept; the store that it leads to is deleted.
      canonical = try fileSystem.canonicalPath(path)
    } catch {
      removeLeftovers(beside: path, of: .deleting)
      throw DatabaseError(error)
    }
    removeLeftovers(beside: canonical, of: .deleting)
    let directory = StoreDirectory(canonical, on: fileSystem)
    let lock = try lock(directory)
    defer { lock.release() }
    return try translating { () throws(LogError) in
      var unrelated: [String] = []
      try directory.forEachEntry { if case .foreign(let name) = $0 { unrelated.append(name) } }
      guard unrelated.isEmpty else { return try removeOwn(in: directory) }
      return try removeOwn(in: try moveAside(directory))
    }
  }

  /// Takes the lock of a directory that is proven to be a store.
  private func lock(_ directory: StoreDirectory) throws(DatabaseError) -> any FileLock {
    let path = directory.path
    try translating { () throws(LogError) in
      let kind = try attempt { () throws(SystemError) in try fileSystem.status(path).kind }
      guard kind == .directory, try directory.isStore() else {
        throw .foreignDirectory(path: path, reason: "nothing in it shows that Divan made it")
      }
    }
    return try StoreOpening.lock(directory, hint: "Close it before you delete it")
  }

  /// Renames a locked store to a name at which no process opens it.
  private func moveAside(_ directory: StoreDirectory) throws(LogError) -> StoreDirectory {
    try attempt { () throws(SystemError) in
      let aside: String
      do throws(SystemError) {
        aside = try freePath(beside: directory.path, for: .deleting)
        try fileSystem.rename(directory.path, to: aside)
      } catch  where [.busy, .invalidArgument, .nameTooLong].contains(error.code) {
        // A directory that cannot be moved, such as a mount point, is emptied in place. So is one
        // whose name has no room for a longer one.
        return directory
      }
      // Otherwise the old name might come back after a power loss, with half of its files.
      try fileSystem.flushDirectory(parentDirectory(of: aside))
      return StoreDirectory(aside, on: fileSystem)
    }
  }

  /// Removes a store's files, and the directory if it is empty then; returns the remaining files.
  private func removeOwn(in directory: StoreDirectory) throws(LogError) -> [String] {
    var unrelated: [String] = []
    try directory.forEachEntry { (entry) throws(LogError) in
      try attempt { () throws(SystemError) in
        switch entry {
        case .foreign(let name): unrelated.append(name)
        case .folder(let name): try removeDirectory("\(directory.path)/\(name)")
        case .file(let name):
          do throws(SystemError) {
            try fileSystem.remove("\(directory.path)/\(name)")
          } catch  where error.code == .notFound {
            // Another process removed it.
          }
        }
      }
    }
    if unrelated.isEmpty {
      try attempt { () throws(SystemError) in try removeDirectory(directory.path) }
    }
    return unrelated
  }

  /// Removes a directory unless it has contents.
  private func removeDirectory(_ path: String) throws(SystemError) {
    do throws(SystemError) {
      try fileSystem.removeDirectory(path)
    } catch
      where error.code == .directoryNotEmpty || error.code == .exists || error.code == .notFound
    {
      // A process that waited for the lock has made a new store there already, or deleted it too.
    }
  }

  /// Removes leftovers next to a path that are proven to be a store's and are not in use.
  ///
  /// Leftovers that cannot be removed stay: nothing depends on them.
  func removeLeftovers(beside path: String, of purpose: Purpose) {
    let parent = parentDirectory(of: path)
    guard
      let base = path.utf8.split(separator: UInt8(ascii: "/")).last.map({ String(Substring($0)) }),
      let names = try? fileSystem.list(parent)
    else { return }
    for name in names where StoreDeletion.isName(name, of: base, for: purpose) {
      removeLeftover("\(parent == "/" ? "" : parent)/\(name)")
    }
  }

  /// Removes a leftover store if it is proven to be one and is not in use.
  func removeLeftover(_ path: String) {
    guard (try? fileSystem.entry(path).kind) == .directory else { return }
    let directory = StoreDirectory(path, on: fileSystem)
    // Nothing is in it yet, or nothing is left in it.
    if (try? fileSystem.list(path).isEmpty) == true {
      try? fileSystem.removeDirectory(path)
    } else if let lock = try? lock(directory) {
      _ = try? removeOwn(in: directory)
      lock.release()
    }
  }

  private static func isName(_ name: String, of base: String, for purpose: Purpose) -> Bool {
    let (start, end) = (base + ".", ".\(purpose)")
    guard name.hasPrefix(start), name.hasSuffix(end) else { return false }
    let digits = name.utf8.dropFirst(start.utf8.count).dropLast(end.utf8.count)
    return digits.count == 16
      && digits.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }
}
