// Ownership of a directory and its entries. Before anything is made, changed or removed in a
// directory, its files must prove that it is a store. Only a plain file with a name that a store
// uses is removed.

/// An entry of a store's directory, classified by its name.
package enum StoreEntry: Sendable {
  /// A plain file of the store, by its path below the store's directory.
  case file(String)
  /// A folder of the store; it comes after everything in it.
  case folder(String)
  /// An entry that is not the store's: it is left alone, with everything in it.
  case foreign(String)
}

extension StoreDirectory {
  /// The first line of `LOCK`, which proves that its directory is a store. FILE_FORMAT.md §1
  static let lockMarker = "Divan store\n"

  /// Returns the text that is written into `LOCK` for other processes to read.
  package static func lockNote(_ holder: String) -> String { lockMarker + holder }

  /// Returns the holder that a note in `LOCK` names.
  package static func holder(inNote note: String) -> String {
    note.hasPrefix(lockMarker) ? String(note.dropFirst(lockMarker.count)) : note
  }

  /// The evidence of `LOCK` about its directory.
  private enum LockFile {
    case absent
    /// Empty, as after a crash just after it was made, or on a full disk.
    case blank
    /// Made by a store.
    case marked
    case foreign
  }

  private func lockFile() throws(LogError) -> LockFile {
    let path = path(of: .lock)
    let text: [UInt8]
    var isOpen = false
    do throws(SystemError) {
      let file = try fileSystem.open(path, .readingOwn)
      isOpen = true
      let size = try file.size()
      // Its size alone shows that it is of another program; unreadable bytes show nothing.
      guard size <= FileLockOutcome.noteSizeLimit else { return .foreign }
      text = try file.read(size, at: 0).array
      try file.close()
    } catch  where error.code == .notFound && !isOpen {
      return .absent
    } catch  where error.code == .isADirectory || error.code == .invalidArgument {
      throw .foreignDirectory(
        path: path, reason: "a store has a file with this name, but this is not a file")
    } catch {
      throw .system(error)
    }
    if text.starts(with: StoreDirectory.lockMarker.utf8) { return .marked }
    if text.allSatisfy({ $0 == 0 }) { return .blank }
    // The note of earlier builds proves nothing by itself, and need not be kept.
    let old = Array("process ".utf8)
    let digits = text.dropFirst(old.count)
    let isOld = text.starts(with: old) && digits.allSatisfy { (0x30...0x39).contains($0) }
    return isOld ? .blank : .foreign
  }

  /// Whether a file begins with the magic bytes of every preamble.
  private func hasMagic(_ name: FileName) throws(LogError) -> Bool {
    var isOpen = false
    do throws(SystemError) {
      let file = try fileSystem.open(path(of: name), .readingOwn)
      isOpen = true
      let bytes = try file.read(FilePreamble.magic.count, at: 0)
      try file.close()
      return bytes.array == FilePreamble.magic
    } catch  where error.code == .notFound && !isOpen || error.code == .isADirectory {
      return false
    } catch {
      throw .system(error)
    }
  }

  /// Whether the directory is proven to be a store, or to be the beginning of one.
  ///
  /// Reads `LOCK`, and the other files only if that proves nothing.
  package func isStore() throws(LogError) -> Bool {
    let (files, foreign) = try listing()
    return try isStore(files, foreign)
  }

  private func isStore(_ files: Set<FileName>, _ foreign: [String]) throws(LogError) -> Bool {
    let lock = try lockFile()
    if case .marked = lock { return true }
    // A damaged `LOCK` does not hide a store that its other files prove.
    for name in files.sorted() where name.hasPreamble {
      if try hasMagic(name) { return true }
    }
    // A store that was begun when power was lost or the disk was full.
    guard case .blank = lock, foreign.isEmpty,
      files.isSubset(of: [.lock, .temporaries, .reserve])
    else { return false }
    guard files.contains(.temporaries) else { return true }
    return try attempt { () throws(SystemError) in
      try fileSystem.list(path(of: .temporaries)).allSatisfy(StoreDirectory.isTemporary)
    }
  }

  /// Refuses a directory that is neither empty nor a store; returns whether it is empty.
  ///
  /// Also refuses a store in which something else has the name of a folder. Makes and changes
  /// nothing.
  package func checkIsStore() throws(LogError) -> Bool {
    let (files, foreign) = try listing()
    if files.isEmpty, foreign.isEmpty { return true }
    guard try isStore(files, foreign) else {
      // The error of a segment's header describes the problem best.
      for case .segment(let numbers) in files.sorted() { _ = try SegmentFile(numbers, in: self) }
      throw .foreignDirectory(
        path: path, reason: "it contains other files, and none that shows that Divan made it")
    }
    try checkFolders(files)
    guard files.contains(.attachments) else { return false }
    for folder in try names(in: "\(FileName.attachments)") where AttachmentName.isFolder(folder) {
      try checkIsFolder("\(FileName.attachments)/\(folder)")
    }
    return false
  }

  /// Refuses entries among the listed `files` that should be folders and are not.
  package func checkFolders(_ files: Set<FileName>) throws(LogError) {
    for name in [FileName.temporaries, .attachments] where files.contains(name) {
      try checkIsFolder("\(name)")
    }
  }

  private func checkIsFolder(_ relativePath: String) throws(LogError) {
    // A folder that is gone since it was listed is made again.
    guard let kind = try kind(of: relativePath) else { return }
    guard kind == .directory else {
      throw .foreignDirectory(
        path: "\(path)/\(relativePath)",
        reason: "a store has a folder with this name, but this is a link or a file")
    }
  }

  // MARK: Temporaries

  /// Whether a file in `tmp` has a name that a store uses there.
  package static func isTemporary(_ name: String) -> Bool {
    switch FileName(name) {
    case .head, .flushed, .reserve, .check, .segment, .checkpoint, .view: return true
    case .lock, .temporaries, .attachments: return false
    case nil: break
    }
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, ["attachment", "file"].contains(parts[0]),
      let number = UInt64(parts[1])
    else { return false }
    return number > 0 && String(number) == parts[1]
  }

  // MARK: Everything

  /// Visits all entries of the directory: the store's own and others.
  ///
  /// A folder comes after its contents. `LOCK` comes last and `HEAD` just before it, since without
  /// `HEAD` and with segments missing nothing looks like a store.
  package func forEachEntry(
    _ visit: (StoreEntry) throws(LogError) -> Void
  ) throws(LogError) {
    let (files, foreign) = try listing()
    for name in foreign { try visit(.foreign(name)) }
    let last: [FileName] = [.head, .lock]
    for name in files.sorted().reversed() where !last.contains(name) {
      switch name {
      case .temporaries:
        try visitFolder("\(name)", isOwn: StoreDirectory.isTemporary, visit)
      case .attachments: try visitAttachments(visit)
      default: try visitFile("\(name)", visit)
      }
    }
    for name in last where files.contains(name) { try visitFile("\(name)", visit) }
  }

  private func visitAttachments(
    _ visit: (StoreEntry) throws(LogError) -> Void
  ) throws(LogError) {
    let root = "\(FileName.attachments)"
    guard try kind(of: root) == .directory else { return try visit(.foreign(root)) }
    for folder in try names(in: root) {
      guard AttachmentName.isFolder(folder) else {
        try visit(.foreign("\(root)/\(folder)"))
        continue
      }
      try visitFolder(
        "\(root)/\(folder)", isOwn: { AttachmentName(folder: folder, file: $0) != nil }, visit)
    }
    try visit(.folder(root))
  }

  private func visitFolder(
    _ folder: String, isOwn: (String) -> Bool,
    _ visit: (StoreEntry) throws(LogError) -> Void
  ) throws(LogError) {
    guard try kind(of: folder) == .directory else { return try visit(.foreign(folder)) }
    for name in try names(in: folder) {
      let relativePath = "\(folder)/\(name)"
      if isOwn(name) {
        try visitFile(relativePath, visit)
      } else {
        try visit(.foreign(relativePath))
      }
    }
    try visit(.folder(folder))
  }

  private func visitFile(
    _ relativePath: String, _ visit: (StoreEntry) throws(LogError) -> Void
  ) throws(LogError) {
    switch try kind(of: relativePath) {
    case .file: try visit(.file(relativePath))
    case .directory, .other: try visit(.foreign(relativePath))
    case nil: break
    }
  }

  /// Returns the names in a folder below the directory; none if it is gone.
  private func names(in folder: String) throws(LogError) -> [String] {
    do throws(SystemError) {
      return try fileSystem.list("\(path)/\(folder)")
    } catch  where error.code == .notFound {
      return []
    } catch {
      throw .system(error)
    }
  }

  /// Returns the kind of an entry below the directory; nil if it is gone.
  private func kind(of relativePath: String) throws(LogError) -> FileStatus.Kind? {
    do throws(SystemError) {
      return try fileSystem.entry("\(path)/\(relativePath)").kind
    } catch  where error.code == .notFound {
      return nil
    } catch {
      throw .system(error)
    }
  }
}

extension FileName {
  /// Whether files of this name begin with a preamble. FILE_FORMAT.md §2
  fileprivate var hasPreamble: Bool {
    switch self {
    case .head, .flushed, .segment, .checkpoint, .view: true
    case .lock, .reserve, .check, .temporaries, .attachments: false
    }
  }
}
