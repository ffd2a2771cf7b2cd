import Synchronization

/// An open file in memory.
final class MemoryFile: OpenFile {
  private let name: OpenFilePath
  private let contents: MemoryContents
  private let access: FileAccess
  private let isClosed = Atomic(false)

  init(path: String, contents: MemoryContents, access: FileAccess) {
    name = OpenFilePath(path)
    self.contents = contents
    self.access = access
  }
}

extension MemoryFile {
  var path: String { name.text }

  func didRename(to path: String) { name.rename(to: path) }

  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int
  ) throws(SystemError) -> Int {
    try checkOpen("pread")
    return unsafe contents.read(into: buffer, at: offset)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
    try checkOpen("pwrite")
    guard access == .creating else {
      throw SystemError(call: "pwrite", path: path, code: .badDescriptor)
    }
    unsafe contents.write(bytes, at: offset)
  }

  func size() throws(SystemError) -> Int {
    try checkOpen("fstat")
    return contents.size
  }

  func flush() throws(SystemError) { try checkOpen("flush") }

  func map(_ count: Int) throws(SystemError) -> SharedBytes {
    try checkOpen("mmap")
    guard let bytes = contents.map(count) else {
      throw SystemError(call: "mmap", path: path, code: .invalidArgument)
    }
    return bytes
  }

  func close() throws(SystemError) { isClosed.store(true, ordering: .relaxed) }

  private func checkOpen(_ call: String) throws(SystemError) {
    if isClosed.load(ordering: .relaxed) {
      throw SystemError(call: call, path: path, code: .badDescriptor)
    }
  }
}

/// The bytes of a file in memory, shared by all its names and open files.
///
/// A file that outgrows its block moves to one of twice the size; a mapping keeps the old block.
final class MemoryContents: Sendable {
  fileprivate struct State {
    var block = MemoryBlock(capacity: 0)
    var count = 0
    var isLocked = false
  }

  private let state = Guarded(State())
}

extension MemoryContents {
  var size: Int { state.withLock { $0.count } }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
    state.withLock { state in
      precondition(offset >= 0, "The offset is negative")
      guard offset < state.count else { return 0 }
      let count = min(buffer.count, state.count - offset)
      // Both ranges were just checked; the lock keeps writers away.
      unsafe buffer.copyMemory(
        from: UnsafeRawBufferPointer(rebasing: state.block.memory[offset..<offset + count]))
      return count
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    state.withLock { state in
      unsafe state.write(bytes, at: offset)
    }
  }

  /// Returns the first `count` bytes, sharing the block; nil if there are fewer.
  func map(_ count: Int) -> SharedBytes? {
    state.withLock { state in
      guard count >= 0, count <= state.count else { return nil }
      // A block always has an address. It outlives the mapping; the caller ensures that these bytes
      // do not change.
      return unsafe SharedBytes(
        unsafeBase: UnsafeRawPointer(state.block.memory.baseAddress.unsafelyUnwrapped),
        count: count, owner: state.block)
    }
  }

  func bytes(upTo limit: Int) -> [UInt8] {
    state.withLock { state in
      unsafe [UInt8](state.block.memory[..<min(limit, state.count)])
    }
  }

  /// Locks the file and makes `note` its contents, or returns false if it is locked.
  func lock(note: [UInt8]) -> Bool {
    state.withLock { state in
      guard !state.isLocked else { return false }
      state.isLocked = true
      state.block = MemoryBlock(capacity: note.count)
      state.count = 0
      unsafe note.withUnsafeBytes { unsafe state.write($0, at: 0) }
      return true
    }
  }

  func unlock() { state.withLock { $0.isLocked = false } }
}

extension MemoryContents.State {
  mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    guard bytes.count > 0 else { return }
    let end = offset + bytes.count
    reserve(end)
    // `reserve` made room up to `end`, and the lock excludes all other threads.
    if offset > count {
      unsafe UnsafeMutableRawBufferPointer(rebasing: block.memory[count..<offset])
        .initializeMemory(as: UInt8.self, repeating: 0)
    }
    unsafe UnsafeMutableRawBufferPointer(rebasing: block.memory[offset..<end])
      .copyMemory(from: bytes)
    count = max(count, end)
  }

  private mutating func reserve(_ size: Int) {
    guard unsafe size > block.memory.count else { return }
    let larger = unsafe MemoryBlock(capacity: max(size, 2 * block.memory.count, 4096))
    // The new block is not shared yet.
    unsafe larger.memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: block.memory[..<count]))
    block = larger
  }
}

/// A block of memory that a file's bytes are appended to, freed with its last reference.
///
/// `@unchecked Sendable`: the file's lock guards the bytes that are not mapped, and mapped bytes
/// never change.
@safe
private final class MemoryBlock: @unchecked Sendable {
  let memory: UnsafeMutableRawBufferPointer

  init(capacity: Int) {
    // At least one byte, so that there is always an address.
    unsafe memory = .allocate(byteCount: max(capacity, 1), alignment: 16)
  }

  deinit { unsafe memory.deallocate() }
}
