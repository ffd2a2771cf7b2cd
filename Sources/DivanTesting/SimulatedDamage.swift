package import DivanLog
import Synchronization

extension SimulatedFileSystem {
  /// Inverts the bits of `mask` in one byte, on the disk and in all later reads.
  package func corrupt(
    _ path: String, atOffset offset: Int, mask: UInt8
  ) throws(SystemError) {
    try edit(path) { bytes in
      guard bytes.indices.contains(offset) else { return false }
      bytes[offset] ^= mask
      return true
    }
  }

  /// Cuts off a file's end, or extends the file by zeros.
  package func truncate(_ path: String, toSize size: Int) throws(SystemError) {
    try edit(path) { bytes in
      guard size >= 0 else { return false }
      bytes = Array(bytes.prefix(size))
      bytes.append(contentsOf: repeatElement(0, count: size - bytes.count))
      return true
    }
  }

  /// Writes stray bytes, within the file or at its end.
  package func overwrite(
    _ path: String, atOffset offset: Int, with new: [UInt8]
  ) throws(SystemError) {
    try edit(path) { bytes in
      guard offset >= 0, offset <= bytes.count else { return false }
      bytes.replace(at: offset, with: new)
      return true
    }
  }

  /// Removes a file as if it had never existed.
  package func vanish(_ path: String) throws(SystemError) {
    try state.withLock { (state) throws(SystemError) in
      let changes = try state.names.removing(path, "vanish")
      let entries = changes.map(\.entry)
      state.flushNames { $0.changes.contains { entries.contains($0.entry) } }
      state.names.apply(changes)
      state.durableNames.apply(changes)
    }
  }

  /// Adds a file as if it had always existed.
  package func appear(_ path: String, _ bytes: [UInt8]) throws(SystemError) {
    try state.withLock { (state) throws(SystemError) in
      let file = state.makeFile()
      let changes = try state.names.creating(file, at: path, "appear")
      state.files[file.index].cached = bytes
      state.files[file.index].durable = bytes
      state.names.apply(changes)
      state.durableNames.apply(changes)
    }
  }

  /// The paths of all files, in order.
  var filePaths: [String] {
    state.withLock { state in
      var paths: [String] = []
      state.forEachFile { path, _ in paths.append(path) }
      return paths
    }
  }

  /// Returns the bytes of a file as they are read now, without a call.
  package func bytes(of path: String) throws(SystemError) -> [UInt8] {
    try state.withLock { (state) throws(SystemError) in
      state.files[try state.names.simulatedFile(at: path, "look").index].cached
    }
  }

  /// Returns the bytes of a sector that are within the file.
  func bytes(of sector: SimulatedDisk.Sector) throws(SystemError) -> [UInt8] {
    let bytes = try bytes(of: sector.path)
    guard sector.sizeBytes > 0, sector.index >= 0, !bytes.isEmpty,
      sector.index <= (bytes.count - 1) / sector.sizeBytes
    else { throw SystemError(call: "look", path: sector.path, code: .invalidArgument) }
    return Array(bytes.dropFirst(sector.index * sector.sizeBytes).prefix(sector.sizeBytes))
  }

  /// Overwrites the part of a sector that is within the file.
  func put(_ new: [UInt8], at sector: SimulatedDisk.Sector) throws(SystemError) {
    try edit(sector.path) { bytes in
      let start = sector.index * sector.sizeBytes
      bytes.replace(at: start, with: new.prefix(bytes.count - start))
      return true
    }
  }

  /// Edits the bytes on the disk and those that are read; unflushed bytes count as flushed.
  private func edit(
    _ path: String, _ body: (inout [UInt8]) -> Bool
  ) throws(SystemError) {
    try state.withLock { (state) throws(SystemError) in
      let index = try state.names.simulatedFile(at: path, "edit").index
      var bytes = state.files[index].cached
      guard body(&bytes) else {
        throw SystemError(call: "edit", path: path, code: .invalidArgument)
      }
      state.files[index].cached = bytes
      state.files[index].durable = bytes
      state.files[index].pending = []
    }
  }

  /// A hash of all names and bytes as they are read now.
  package var contentHash: UInt64 {
    state.withLock { state in
      var hash = StableHash()
      state.forEachFile { path, file in
        hash.add(path)
        hash.add(state.files[file.index].cached)
      }
      return hash.value
    }
  }

  /// A hash of everything that a restart could find: names, bytes, and unflushed changes.
  ///
  /// It is the same in every run. Noise that a loss left is the same for the same cut, so that it
  /// makes no difference of its own. Bytes that can be read, but are neither on the disk nor on the
  /// way there because a flush failed, do not count.
  package var imageHash: UInt64 {
    state.withLock { state in
      var hash = StableHash()
      state.addNames(of: state.names, to: &hash)
      guard state.unflushedChangeCount > 0 else { return hash.value }
      state.addNames(of: state.durableNames, to: &hash)
      state.addUnflushed(to: &hash)
      return hash.value
    }
  }
}

extension SimulatedFileSystem {
  /// Makes hashing the images of this disk's forks fast, as long as this disk does not change.
  package func cacheHashes() {
    state.withLock { state in
      for index in state.files.indices { state.files[index].cacheHash() }
    }
  }
}

extension SimulatedState {
  fileprivate func addNames(of tree: FileTree, to hash: inout StableHash) {
    addNames(of: tree, in: FileTree.root, to: &hash)
  }

  private func addNames(
    of tree: FileTree, in directory: FileTree.DirectoryID,
    to hash: inout StableHash
  ) {
    let names = tree.names(in: directory)
    hash.add(names.count)
    for name in names {
      hash.add(name)
      switch tree[.init(directory: directory, name: name)] {
      case .file(let file):
        hash.add(Int(truncatingIfNeeded: files[SimulatedFileID.of(file).index].durableHash))
      case .directory(let next): addNames(of: tree, in: next, to: &hash)
      case nil: break
      }
    }
  }

  fileprivate func addUnflushed(to hash: inout StableHash) {
    for change in volatileNames {
      hash.add(change.number)
      for part in change.changes {
        hash.add(part.entry.directory.number)
        hash.add(part.entry.name)
        if case .file(let file) = part.node { hash.add(SimulatedFileID.of(file).index) }
      }
    }
    for (index, file) in files.enumerated() {
      for write in file.pending {
        hash.add(index)
        hash.add(write.number)
        hash.add(write.offset)
        hash.addWords(write.bytes)
      }
    }
  }
}
