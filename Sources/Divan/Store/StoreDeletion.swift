import DivanLog

extension Database {
  /// Whether there is a store at a path: a directory with files in it that show that Divan made it.
  public static func exists(at path: String, configuration: Configuration = Configuration()) -> Bool
  {
    let directory = StoreDirectory(path, on: configuration.usedFileSystem)
    return (try? directory.isStore()) ?? false
  }

  /// Deletes a store with everything in it that Divan made.
  ///
  /// It must not be open. The store is moved aside first, so that a crash leaves no part of one at `path`: what it
  /// leaves beside it, under a name that ends in `.deleting`, goes with the next deletion at that path. Files and
  /// folders that are none of a store's are left where they are, and then the directory too.
  ///
  /// - Returns: the paths of what was left, below the store's directory; none if everything is gone.
  /// - Throws: ``DatabaseError`` with the codes `notFound`, `notAStore`, `storeInUse`, `accessDenied`.
  @discardableResult
  public static func delete(
    at path: String, configuration: Configuration = Configuration()
  ) throws -> [String] {
    let fileSystem = configuration.usedFileSystem
    let path = try absolutePath(path, on: fileSystem)
    return try StoreDeletion(fileSystem, nonce: configuration.random()).delete(at: path)
  }
}

/// The path from the root on.
func absolutePath(
  _ path: String, on fileSystem: any FileSystem
) throws(DatabaseError) -> String {
  try translating { () throws(LogError) in
    try attempt { () throws(SystemError) in try fileSystem.absolutePath(path) }
  }
}

/// Removes stores, and what was left of stores that were being made or removed.
struct StoreDeletion {
  /// A name beside a store's, which nobody else gives: the store's, sixteen digits, and what it is for.
  enum Purpose: String {
    case building, deleting
  }

  let fileSystem: any FileSystem
  /// Tells names apart that are given at the same time.
  let nonce: UInt64

  init(_ fileSystem: any FileSystem, nonce: UInt64) {
    self.fileSystem = fileSystem
    self.nonce = nonce
  }
}

extension StoreDeletion {
  /// A path beside another one, at which nothing stands.
  func freePath(beside path: String, for purpose: Purpose) throws(SystemError) -> String {
    var number = nonce
    while true {
      let free = "\(path).\(hexadecimal(number)).\(purpose)"
      if try !fileSystem.isTaken(free) { return free }
      number &+= 1
    }
  }

  /// Deletes a store; returns what it left, by its path below the store's directory.
  func delete(at path: String) throws(DatabaseError) -> [String] {
    let place: String
    do throws(SystemError) {
      // A link is left: the store that it leads to was meant.
      place = try fileSystem.canonicalPath(path)
    } catch {
      removeLeftovers(beside: path, of: .deleting)
      throw DatabaseError(error)
    }
    removeLeftovers(beside: place, of: .deleting)
    let directory = StoreDirectory(place, on: fileSystem)
    let lock = try lock(directory)
    defer { lock.release() }
    return try translating { () throws(LogError) in
      var foreign: [String] = []
      try directory.forEachEntry { if case .foreign(let name) = $0 { foreign.append(name) } }
      guard foreign.isEmpty else { return try removeOwn(in: directory) }
      return try removeOwn(in: try moveAside(directory))
    }
  }

  /// Takes the lock of a directory that is proven to be a store.
  private func lock(_ directory: StoreDirectory) throws(DatabaseError) -> any FileLock {
    let path = directory.path
    let outcome = try translating { () throws(LogError) in
      let kind = try attempt { () throws(SystemError) in try fileSystem.status(path).kind }
      guard kind == .directory, try directory.isStore() else {
        throw .foreignDirectory(path: path, reason: "nothing in it shows that Divan made it")
      }
      return try attempt { () throws(SystemError) in
        try fileSystem.lock(
          directory.path(of: .lock), note: StoreDirectory.lockNote(StoreOpening.holder))
      }
    }
    switch outcome {
    case .acquired(let lock): return lock
    case .held(let note):
      throw StoreOpening.inUse(path, note: note, hint: "Close it before it is deleted")
    }
  }

  /// Gives a store that is locked a name under which nobody looks for it.
  private func moveAside(_ directory: StoreDirectory) throws(LogError) -> StoreDirectory {
    try attempt { () throws(SystemError) in
      let aside = try freePath(beside: directory.path, for: .deleting)
      do throws(SystemError) {
        try fileSystem.rename(directory.path, to: aside)
      } catch  where error.code == .busy || error.code == .invalidArgument {
        // A directory that cannot be moved, as the root of a file system, is emptied in its place.
        return directory
      }
      // Or its old name might come back after a loss of power, with half of its files.
      try fileSystem.flushDirectory(parentDirectory(of: aside))
      return StoreDirectory(aside, on: fileSystem)
    }
  }

  /// Removes everything that a store made in a directory, and the directory if nothing else is in it; returns what is.
  private func removeOwn(in directory: StoreDirectory) throws(LogError) -> [String] {
    var foreign: [String] = []
    try directory.forEachEntry { (entry) throws(LogError) in
      try attempt { () throws(SystemError) in
        switch entry {
        case .foreign(let place): foreign.append(place)
        case .folder(let place): try removeDirectory("\(directory.path)/\(place)")
        case .file(let place):
          do throws(SystemError) {
            try fileSystem.remove("\(directory.path)/\(place)")
          } catch  where error.code == .notFound {
            // Somebody else did it.
          }
        }
      }
    }
    if foreign.isEmpty {
      try attempt { () throws(SystemError) in try removeDirectory(directory.path) }
    }
    return foreign
  }

  /// Removes a directory unless something is in it.
  private func removeDirectory(_ path: String) throws(SystemError) {
    do throws(SystemError) {
      try fileSystem.removeDirectory(path)
    } catch
      where error.code == .directoryNotEmpty || error.code == .exists || error.code == .notFound
    {
      // Whoever was waiting for the lock makes a new store there already, or deleted that, too.
    }
  }

  /// Removes what a crash left beside a path, as far as it is proven to be a store's and nobody uses it.
  ///
  /// What cannot be removed stays: nothing rests on it.
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

  /// Removes a store that nobody asked for, as far as it is proven to be one and nobody uses it.
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
