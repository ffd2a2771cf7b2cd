// Whose a directory is, and what in it. Before anything is made, changed or removed in a directory, its
// files show that it is a store; and what is removed has a name that a store gives, and is a plain file.

/// What is done with a file or folder of a store that is found by its name.
package enum StoreEntry: Sendable {
  /// A plain file of the store, by its path below the store's directory.
  case file(String)
  /// A folder of the store, after everything in it.
  case folder(String)
  /// What the store did not make: it is left alone, with everything in it.
  case foreign(String)
}

extension StoreDirectory {
  /// The line with which `LOCK` begins, and which shows that its directory is a store. FILE_FORMAT.md §1
  static let lockMarker = "Divan store\n"

  /// What is written into `LOCK` for others to read.
  package static func lockNote(_ holder: String) -> String { lockMarker + holder }

  /// Whom a note in `LOCK` names.
  package static func holder(inNote note: String) -> String {
    note.hasPrefix(lockMarker) ? String(note.dropFirst(lockMarker.count)) : note
  }

  /// What `LOCK` says of its directory.
  private enum LockFile {
    case absent
    /// Nothing, as after a crash just when it was made, or on a disk that was full.
    case blank
    /// It was made by a store.
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
      // Only its size says that it is another's: what cannot be read says nothing of that.
      guard size <= FileLockOutcome.noteSizeLimit else { return .foreign }
      text = try file.read(size, at: 0).array
      try file.close()
    } catch  where error.code == .notFound && !isOpen {
      return .absent
    } catch  where error.code == .isADirectory || error.code == .invalidArgument {
      throw .foreignDirectory(
        path: path, reason: "it stands where a store has a file of its own, and is no file")
    } catch {
      throw .system(error)
    }
    if text.starts(with: StoreDirectory.lockMarker.utf8) { return .marked }
    if text.allSatisfy({ $0 == 0 }) { return .blank }
    // What earlier builds wrote proves nothing by itself, and is worth nothing either.
    let old = Array("process ".utf8)
    let digits = text.dropFirst(old.count)
    let isOld = text.starts(with: old) && digits.allSatisfy { (0x30...0x39).contains($0) }
    return isOld ? .blank : .foreign
  }

  /// Whether a file begins as every file of a store does that has a preamble.
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
  /// Looks at `LOCK`, and at the other files only if it does not say so.
  package func isStore() throws(LogError) -> Bool {
    let (files, foreign) = try listing()
    return try isStore(files, foreign)
  }

  private func isStore(_ files: Set<FileName>, _ foreign: [String]) throws(LogError) -> Bool {
    let lock = try lockFile()
    if case .marked = lock { return true }
    // A damaged `LOCK` keeps from no store that its other files show.
    for name in files.sorted() where name.hasPreamble {
      if try hasMagic(name) { return true }
    }
    // A store of which no more was made than this, before power was lost or the disk was full.
    guard case .blank = lock, foreign.isEmpty,
      files.isSubset(of: [.lock, .temporaries, .reserve])
    else { return false }
    guard files.contains(.temporaries) else { return true }
    return try attempt { () throws(SystemError) in
      try fileSystem.list(path(of: .temporaries)).allSatisfy(StoreDirectory.isTemporary)
    }
  }

  /// Refuses a directory that is neither empty nor a store, and one in which a store's folders are not
  /// folders; returns whether it is empty.
  ///
  /// Makes and changes nothing.
  package func checkIsStore() throws(LogError) -> Bool {
    let (files, foreign) = try listing()
    if files.isEmpty, foreign.isEmpty { return true }
    guard try isStore(files, foreign) else {
      // The header of a segment says best what is wrong with it.
      for case .segment(let numbers) in files.sorted() { _ = try SegmentFile(numbers, in: self) }
      throw .foreignDirectory(
        path: path, reason: "it holds other files, and none that shows that Divan made it")
    }
    try checkFolders(files)
    guard files.contains(.attachments) else { return false }
    for folder in try names(in: "\(FileName.attachments)") where AttachmentName.isFolder(folder) {
      try checkIsFolder("\(FileName.attachments)/\(folder)")
    }
    return false
  }

  /// Refuses what is no folder where a store has one; `files` are those that were listed.
  package func checkFolders(_ files: Set<FileName>) throws(LogError) {
    for name in [FileName.temporaries, .attachments] where files.contains(name) {
      try checkIsFolder("\(name)")
    }
  }

  private func checkIsFolder(_ place: String) throws(LogError) {
    // What has gone since it was listed is made again.
    guard let kind = try kind(of: place) else { return }
    guard kind == .directory else {
      throw .foreignDirectory(
        path: "\(path)/\(place)",
        reason: "it stands where a store has a folder of its own, and is a link or a file")
    }
  }

  // MARK: Temporaries

  /// Whether a file in `tmp` has a name that a store gives there.
  package static func isTemporary(_ name: String) -> Bool {
    switch FileName(name) {
    case .head, .flushed, .reserve, .segment, .checkpoint, .view: return true
    case .lock, .temporaries, .attachments: return false
    case nil: break
    }
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0] == "attachment", let number = UInt64(parts[1]) else {
      return false
    }
    return number > 0 && String(number) == parts[1]
  }

  // MARK: Everything

  /// Visits everything in the directory: what the store made, and what others put there.
  ///
  /// A folder comes after what is in it, and `LOCK` last but for them; `HEAD` just before it, since without
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
      let place = "\(folder)/\(name)"
      if isOwn(name) { try visitFile(place, visit) } else { try visit(.foreign(place)) }
    }
    try visit(.folder(folder))
  }

  private func visitFile(
    _ place: String, _ visit: (StoreEntry) throws(LogError) -> Void
  ) throws(LogError) {
    switch try kind(of: place) {
    case .file: try visit(.file(place))
    case .directory, .other: try visit(.foreign(place))
    case nil: break
    }
  }

  /// What is in a folder below the directory; nothing if it has gone.
  private func names(in folder: String) throws(LogError) -> [String] {
    do throws(SystemError) {
      return try fileSystem.list("\(path)/\(folder)")
    } catch  where error.code == .notFound {
      return []
    } catch {
      throw .system(error)
    }
  }

  /// What stands at a place below the directory; nil if it has gone.
  private func kind(of place: String) throws(LogError) -> FileStatus.Kind? {
    do throws(SystemError) {
      return try fileSystem.entry("\(path)/\(place)").kind
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
    case .lock, .reserve, .temporaries, .attachments: false
    }
  }
}
