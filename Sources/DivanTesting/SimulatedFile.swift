import DivanLog
import Synchronization

/// An open file of a simulated disk.
final class SimulatedFile: OpenFile {
  /// The path where it was opened, also after it got its final name: proofs name calls by it.
  let path: String
  private let file: SimulatedFileID
  private let access: FileAccess
  private let fileSystem: SimulatedFileSystem
  private let isClosed = Atomic(false)

  init(
    path: String, file: SimulatedFileID, access: FileAccess, fileSystem: SimulatedFileSystem
  ) {
    self.path = path
    self.file = file
    self.access = access
    self.fileSystem = fileSystem
    fileSystem.openFiles.add(1, ordering: .sequentiallyConsistent)
  }

  deinit {
    if !isClosed.load(ordering: .relaxed) { noteClosed() }
  }

  private func noteClosed() {
    fileSystem.openFiles.subtract(1, ordering: .sequentiallyConsistent)
  }
}

extension SimulatedFile {
  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int
  ) throws(SystemError) -> Int {
    try checkOpen(.read)
    return try fileSystem.perform(.read, path, offset: offset, count: buffer.count) {
      (state) throws(SystemError) in
      let cached = state.files[file.index].cached
      require(offset >= 0, "The offset is negative")
      guard offset < cached.count else { return 0 }
      let count = min(buffer.count, cached.count - offset)
      // Both ranges were just checked.
      unsafe cached.withUnsafeBytes { bytes in
        unsafe buffer.copyMemory(
          from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
      }
      return count
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
    try checkOpen(.write)
    // A copy, since the caller's memory is valid for this call only.
    let bytes = unsafe [UInt8](bytes)
    try fileSystem.perform(.write, path, offset: offset, count: bytes.count) {
      (state, fault) throws(SystemError) in
      guard access == .creating else {
        throw SystemError(call: "write", path: path, code: .badDescriptor)
      }
      guard !bytes.isEmpty else { return }
      try state.throwBelatedError(.write, file, path)
      if let error = fault?.error("write", path) {
        let part = fault?.partOfWrite(bytes.count) ?? 0
        state.write(bytes.prefix(part), to: file, at: offset)
        throw error
      }
      let growth = offset + bytes.count - state.files[file.index].cached.count
      if growth > 0, let free = state.freeBytes, growth > free {
        state.write(bytes.prefix(max(0, bytes.count - (growth - free))), to: file, at: offset)
        throw SystemError(call: "write", path: path, code: .noSpace)
      }
      if let fault, case .lie(let lie, let calls) = fault.effect {
        let evicted = try state.write(bytes, to: file, at: offset, lying: lie)
        guard let calls else { return }
        for (file, write) in evicted { fileSystem.evict([write], of: file, afterCalls: calls) }
      } else {
        state.write(bytes[...], to: file, at: offset)
      }
    }
  }

  func size() throws(SystemError) -> Int {
    try checkOpen(.size)
    return try fileSystem.perform(.size, path) { (state) throws(SystemError) in
      state.files[file.index].cached.count
    }
  }

  func flush() throws(SystemError) {
    try checkOpen(.flush)
    try fileSystem.perform(.flush, path, offset: 0, count: 0) {
      (state, fault) throws(SystemError) in
      if state.files[file.index].belatedError != nil {
        defer { state.files[file.index].flush() }
        return try state.throwBelatedError(.flush, file, path)
      }
      switch fault?.effect {
      case nil: state.files[file.index].flush()
      case .lie: break
      case .error(let code, let completion):
        if completion == .everything { state.files[file.index].flush() }
        throw SystemError(call: "flush", path: path, code: code)
      case .failedFlush(let behavior, let code):
        try fail(behavior, SystemError(call: "flush", path: path, code: code), &state)
      }
    }
  }

  /// Fails a flush, and treats the unflushed bytes according to `behavior`.
  private func fail(
    _ behavior: SimulatedDisk.FailedFlush, _ error: SystemError, _ state: inout SimulatedState
  ) throws(SystemError) {
    let number = file.index
    switch behavior {
    case .staysDirty: throw error
    case .takesEffect:
      state.files[number].flush()
      throw error
    case .keepsNewBytes, .revertsToOldBytes, .reportsAtNextFlush, .reportsAtNextCall: break
    }
    let lost = state.files[number].pending
    state.files[number].pending = []
    switch behavior {
    case .reportsAtNextFlush, .reportsAtNextCall:
      state.files[number].belatedError = BelatedError(
        code: error.code, isForAnyCall: behavior == .reportsAtNextCall)
    case .revertsToOldBytes(let calls):
      if calls > 0 {
        fileSystem.evict(lost, of: number, afterCalls: calls)
      } else {
        state.files[number].revert(lost)
      }
      throw error
    case .keepsNewBytes, .staysDirty, .takesEffect: throw error
    }
  }

  func map(_ count: Int) throws(SystemError) -> SharedBytes {
    try checkOpen(.map)
    return try fileSystem.perform(.map, path, count: count) { (state) throws(SystemError) in
      let cached = state.files[file.index].cached
      guard count >= 0, count <= cached.count else {
        throw SystemError(call: "map", path: path, code: .invalidArgument)
      }
      return SharedBytes(copying: Array(cached[..<count]))
    }
  }

  func close() throws(SystemError) {
    guard !isClosed.exchange(true, ordering: .relaxed) else { return }
    noteClosed()
    try fileSystem.perform(.close, path) { (state) throws(SystemError) in
      try state.throwBelatedError(.close, file, path)
    }
  }

  private func checkOpen(_ verb: SimulatedDisk.Verb) throws(SystemError) {
    if isClosed.load(ordering: .relaxed) {
      throw SystemError(call: verb.rawValue, path: path, code: .badDescriptor)
    }
  }
}

extension SimulatedState {
  /// Throws the error of an earlier flush, if there is one that `verb` is to report.
  fileprivate mutating func throwBelatedError(
    _ verb: SimulatedDisk.Verb, _ file: SimulatedFileID, _ path: String
  ) throws(SystemError) {
    guard let code = files[file.index].takeBelatedError(verb) else { return }
    throw SystemError(call: verb.rawValue, path: path, code: code)
  }

  /// Makes a write that is read at its offset, but never reaches that offset on the disk.
  ///
  /// - Returns: the writes after which other bytes are read once the page cache has forgotten them.
  fileprivate mutating func write(
    _ bytes: [UInt8], to file: SimulatedFileID, at offset: Int, lying lie: SimulatedDisk.Lie
  ) throws(SystemError) -> [(file: Int, write: VolatileWrite)] {
    let number = nextChangeNumber()
    let requested = VolatileWrite(number: number, offset: offset, bytes: bytes)
    files[file.index].pretend(requested)
    guard case .misdirectedWrite(let path, let wrongOffset) = lie else {
      return [(file.index, requested)]
    }
    // A path without a file represents a part of the disk that belongs to no file.
    let victim = try? path.map { path throws(SystemError) in
      try names.simulatedFile(at: path, "write")
    }
    let index = path == nil ? file.index : victim?.index
    guard let index else { return [(file.index, requested)] }
    let wrong = VolatileWrite(number: number, offset: wrongOffset, bytes: bytes)
    files[index].hit(wrong)
    return [(file.index, requested), (index, wrong)]
  }

  fileprivate mutating func write(
    _ bytes: ArraySlice<UInt8>, to file: SimulatedFileID, at offset: Int
  ) {
    guard !bytes.isEmpty else { return }
    let number = nextChangeNumber()
    files[file.index].write(VolatileWrite(number: number, offset: offset, bytes: Array(bytes)))
  }
}
