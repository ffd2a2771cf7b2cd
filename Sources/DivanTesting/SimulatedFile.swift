import DivanLog
import Synchronization

/// A file of a simulated disk that is open.
final class SimulatedFile: OpenFile {
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
      precondition(offset >= 0, "An offset below zero")
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
    // A copy, since the caller's memory is lent for this call only.
    let bytes = unsafe [UInt8](bytes)
    try fileSystem.perform(.write, path, offset: offset, count: bytes.count) {
      (state, fault) throws(SystemError) in
      guard access == .creating else {
        throw SystemError(call: "write", path: path, code: .badDescriptor)
      }
      guard !bytes.isEmpty else { return }
      if let fault {
        state.write(bytes.prefix(fault.partOfWrite(bytes.count)), to: file, at: offset)
        throw SystemError(call: "write", path: path, code: fault.code)
      }
      let growth = offset + bytes.count - state.files[file.index].cached.count
      if growth > 0, let free = state.freeBytes, growth > free {
        state.write(bytes.prefix(max(0, bytes.count - (growth - free))), to: file, at: offset)
        throw SystemError(call: "write", path: path, code: .noSpace)
      }
      state.write(bytes[...], to: file, at: offset)
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
    let number = file.index
    try fileSystem.perform(.flush, path, offset: 0, count: 0) {
      (state, fault) throws(SystemError) in
      if let code = state.files[number].belatedError {
        state.files[number].belatedError = nil
        state.files[number].flush()
        throw SystemError(call: "flush", path: path, code: code)
      }
      guard let fault else { return state.files[number].flush() }
      let error = SystemError(call: "flush", path: path, code: fault.code)
      // Without a behaviour, nothing happened, and the next flush may well succeed.
      guard let behavior = fault.failedFlush else { throw error }
      let lost = state.files[number].pending
      state.files[number].pending = []
      switch behavior {
      case .keepsNewBytes: throw error
      case .reportsAtNextFlush: state.files[number].belatedError = fault.code
      case .revertsToOldBytes(let calls):
        if calls > 0 {
          fileSystem.evict(lost, of: number, afterCalls: calls)
        } else {
          state.files[number].revert(lost)
        }
        throw error
      }
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
    try fileSystem.perform(.close, path) { (_) throws(SystemError) in }
  }

  private func checkOpen(_ verb: SimulatedDisk.Verb) throws(SystemError) {
    if isClosed.load(ordering: .relaxed) {
      throw SystemError(call: verb.rawValue, path: path, code: .badDescriptor)
    }
  }
}

extension SimulatedState {
  fileprivate mutating func write(
    _ bytes: ArraySlice<UInt8>, to file: SimulatedFileID, at offset: Int
  ) {
    guard !bytes.isEmpty else { return }
    let number = nextChangeNumber()
    files[file.index].write(VolatileWrite(number: number, offset: offset, bytes: Array(bytes)))
  }
}
