import Synchronization

/// A file system in memory that is discarded with its last reference.
///
/// It begins with an empty root directory. Flushing does nothing.
package final class MemoryFileSystem: FileSystem {
  private let tree = Guarded(FileTree())

  package init() {}
}

extension MemoryFileSystem {
  package func open(_ path: String, _ access: FileAccess) throws(SystemError) -> any OpenFile {
    let contents = try tree.withLock { (tree) throws(SystemError) -> MemoryContents in
      switch access {
      case .reading, .readingOwn:
        return try tree.contents(at: path, "open")
      case .creating:
        let contents = MemoryContents()
        tree.apply(try tree.creating(contents, at: path, "open"))
        return contents
      }
    }
    return MemoryFile(path: path, contents: contents, access: access)
  }

  package func rename(_ path: String, to newPath: String) throws(SystemError) {
    try tree.withLock { (tree) throws(SystemError) in
      tree.apply(try tree.renaming(path, to: newPath, "rename"))
    }
  }

  package func link(_ path: String, to newPath: String) throws(SystemError) {
    try tree.withLock { (tree) throws(SystemError) in
      tree.apply(try tree.linking(path, to: newPath, "link"))
    }
  }

  package func remove(_ path: String) throws(SystemError) {
    try tree.withLock { (tree) throws(SystemError) in
      tree.apply(try tree.removing(path, "unlink"))
    }
  }

  package func makeDirectory(_ path: String) throws(SystemError) {
    try tree.withLock { (tree) throws(SystemError) in
      tree.apply(try tree.makingDirectory(path, "mkdir"))
    }
  }

  package func removeDirectory(_ path: String) throws(SystemError) {
    try tree.withLock { (tree) throws(SystemError) in
      tree.apply(try tree.removingDirectory(path, "rmdir"))
    }
  }

  package func list(_ path: String) throws(SystemError) -> [String] {
    try tree.withLock { (tree) throws(SystemError) in
      tree.names(in: try tree.directory(at: path, "open"))
    }
  }

  package func status(_ path: String) throws(SystemError) -> FileStatus {
    let node = try tree.withLock { (tree) throws(SystemError) in
      try tree.node(at: path, "stat")
    }
    switch node {
    case .file(let file):
      let size = MemoryContents.of(file).size
      return FileStatus(kind: .file, size: size)
    case .directory:
      return FileStatus(kind: .directory, size: 0)
    }
  }

  package func flushDirectory(_ path: String) throws(SystemError) {
    try tree.withLock { (tree) throws(SystemError) in
      _ = try tree.directory(at: path, "open")
    }
  }

  package func canonicalPath(_ path: String) throws(SystemError) -> String {
    try tree.withLock { (tree) throws(SystemError) in
      _ = try tree.node(at: path, "realpath")
    }
    return FileTree.canonicalPath(path)
  }

  package func lock(_ path: String, note: String) throws(SystemError) -> FileLockOutcome {
    let contents = try tree.withLock { (tree) throws(SystemError) -> MemoryContents in
      if let entry = try tree.entry(of: path, "open"), tree[entry] == nil {
        let contents = MemoryContents()
        tree.apply(try tree.creating(contents, at: path, "open"))
        return contents
      }
      return try tree.contents(at: path, "open")
    }
    guard contents.lock(note: Array(note.utf8)) else {
      let note = contents.bytes(upTo: FileLockOutcome.noteSizeLimit)
      return .held(note: String(decoding: note, as: UTF8.self))
    }
    return .acquired(MemoryFileLock(contents))
  }
}

extension MemoryContents {
  /// Returns the contents that a file of the tree is.
  fileprivate static func of(_ file: FileTree.File) -> MemoryContents {
    guard let contents = file as? MemoryContents else {
      preconditionFailure("The tree of a file system in memory has a file of another one")
    }
    return contents
  }
}

extension FileTree {
  fileprivate func contents(at path: String, _ call: String) throws(SystemError) -> MemoryContents {
    .of(try file(at: path, call))
  }
}

/// A lock on the contents of a file in memory.
private final class MemoryFileLock: FileLock {
  private let contents: MemoryContents
  private let isReleased = Atomic(false)

  init(_ contents: MemoryContents) { self.contents = contents }

  deinit { release() }

  func release() {
    guard !isReleased.exchange(true, ordering: .relaxed) else { return }
    contents.unlock()
  }
}
