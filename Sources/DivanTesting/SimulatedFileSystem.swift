package import DivanLog
import Synchronization

/// A call to a simulated disk that is about to be made.
package struct SimulatedCall: Sendable {
  package let verb: SimulatedDisk.Verb
  package let path: String
  /// One more than the number of calls before it that changed something or flushed.
  package let changingNumber: Int
}

/// The file system of a ``SimulatedDisk``.
///
/// It separates the bytes that are read, those on the disk, and the changes on the way there: for
/// each file the writes since its last flush, and for names the changes since the last flush of
/// their directory.
package final class SimulatedFileSystem: FileSystem {
  let state: Guarded<SimulatedState>
  let control: Guarded<SimulatedControl>
  private let observer = Guarded<Observer?>(nil)
  let openFiles = Atomic(0)

  /// A function in a type of its own.
  ///
  /// A bare function would be wrapped again each time it is taken from the lock, and be slower with
  /// every call.
  private struct Observer: Sendable {
    let body: @Sendable (SimulatedCall) -> Void
  }

  package convenience init(seed: UInt64 = 0) {
    self.init(SimulatedState(noiseSeed: seed), SimulatedControl(seed: seed))
  }

  init(_ state: SimulatedState, _ control: SimulatedControl) {
    self.state = Guarded(state)
    self.control = Guarded(control)
  }
}

extension SimulatedFileSystem {
  /// The number of files that were opened, and neither closed nor released.
  package var openFileCount: Int { openFiles.load(ordering: .sequentiallyConsistent) }

  /// The number of locks that are not released.
  package var lockCount: Int { state.withLock { $0.files.count(where: \.isLocked) } }

  /// Calls `body` before each call of any kind.
  package func observeCalls(_ body: (@Sendable (SimulatedCall) -> Void)?) {
    observer.withLock { $0 = body.map(Observer.init) }
  }

  /// Calls `body` before each call that changes something or flushes, with that call's number.
  ///
  /// From there, ``restarted(_:tearing:)`` returns the disk that a loss of power just then would
  /// leave. One run is therefore enough to try every point of it.
  package func observeChangingCalls(_ body: (@Sendable (Int) -> Void)?) {
    guard let body else { return observeCalls(nil) }
    observeCalls { call in
      if call.verb.isChanging { body(call.changingNumber) }
    }
  }

  /// Makes a call: counts it, fails it if a fault is due, and otherwise calls `body`.
  func perform<Result: Sendable>(
    _ verb: SimulatedDisk.Verb, _ path: String, offset: Int = 0, count: Int = 0,
    _ body: (inout SimulatedState) throws(SystemError) -> Result
  ) throws(SystemError) -> Result {
    try perform(verb, path, offset: offset, count: count) {
      (state, fault) throws(SystemError) in
      guard let error = fault?.error(verb.rawValue, path) else { return try body(&state) }
      if fault?.takesEffect == true { _ = try body(&state) }
      throw error
    }
  }

  /// Makes a call; `body` gets the fault that is due, and handles it.
  func perform<Result: Sendable>(
    _ verb: SimulatedDisk.Verb, _ path: String, offset: Int, count: Int,
    _ body: (inout SimulatedState, SimulatedFault?) throws(SystemError) -> Result
  ) throws(SystemError) -> Result {
    if let observer = observer.withLock({ $0 }) {
      observer.body(
        SimulatedCall(verb: verb, path: path, changingNumber: changingCallCount + 1))
    }
    let (fault, evictions) = try control.withLock { (control) throws(SystemError) in
      (
        try control.admit(verb, path, offset: offset, count: count),
        control.takeEvictionsDue()
      )
    }
    return try state.withLock { (state) throws(SystemError) in
      for eviction in evictions { state.files[eviction.file].revert(eviction.writes) }
      return try body(&state, fault)
    }
  }
}

extension SimulatedFileSystem {
  package func open(_ path: String, _ access: FileAccess) throws(SystemError) -> any OpenFile {
    let file: SimulatedFileID
    switch access {
    case .reading, .readingOwn:
      file = try perform(.open, path) { (state) throws(SystemError) in
        try state.names.simulatedFile(at: path, "open")
      }
    case .creating:
      file = try perform(.create, path) { (state) throws(SystemError) in
        try state.create(path)
      }
    }
    return SimulatedFile(path: path, file: file, access: access, fileSystem: self)
  }

  package func rename(_ path: String, to newPath: String) throws(SystemError) {
    try perform(.rename, path) { (state) throws(SystemError) in
      state.change(try state.names.renaming(path, to: newPath, "rename"))
    }
  }

  package func link(_ path: String, to newPath: String) throws(SystemError) {
    try perform(.link, path) { (state) throws(SystemError) in
      state.change(try state.names.linking(path, to: newPath, "link"))
    }
  }

  package func remove(_ path: String) throws(SystemError) {
    try perform(.remove, path) { (state) throws(SystemError) in
      state.change(try state.names.removing(path, "unlink"))
    }
  }

  package func makeDirectory(_ path: String) throws(SystemError) {
    try perform(.makeDirectory, path) { (state) throws(SystemError) in
      let changes = try state.names.makingDirectory(path, "mkdir")
      try state.checkSpace("mkdir", path)
      state.change(changes)
    }
  }

  package func removeDirectory(_ path: String) throws(SystemError) {
    try perform(.removeDirectory, path) { (state) throws(SystemError) in
      state.change(try state.names.removingDirectory(path, "rmdir"))
    }
  }

  package func list(_ path: String) throws(SystemError) -> [String] {
    try perform(.list, path) { (state) throws(SystemError) in
      state.names.names(in: try state.names.directory(at: path, "open"))
    }
  }

  package func status(_ path: String) throws(SystemError) -> FileStatus {
    try perform(.status, path) { (state) throws(SystemError) in
      switch try state.names.node(at: path, "stat") {
      case .file(let file):
        let size = state.files[SimulatedFileID.of(file).index].cached.count
        return FileStatus(kind: .file, size: size)
      case .directory:
        return FileStatus(kind: .directory, size: 0)
      }
    }
  }

  package func flushDirectory(_ path: String) throws(SystemError) {
    try perform(.flushDirectory, path, offset: 0, count: 0) {
      (state, fault) throws(SystemError) in
      let directory = try state.names.directory(at: path, "open")
      if fault == nil || fault?.takesEffect == true { state.flushNames(in: directory) }
      if let error = fault?.error("flushDirectory", path) { throw error }
    }
  }

  package func canonicalPath(_ path: String) throws(SystemError) -> String {
    try perform(.canonicalPath, path) { (state) throws(SystemError) in
      _ = try state.names.node(at: path, "realpath")
      return FileTree.canonicalPath(path)
    }
  }

  package func lock(_ path: String, note: String) throws(SystemError) -> FileLockOutcome {
    let (file, otherNote) = try perform(.lock, path, offset: 0, count: 0) {
      (state, fault) throws(SystemError) -> (SimulatedFileID, String?) in
      // A call that reports an error takes no lock, as a real lock goes with its descriptor.
      if let error = fault?.error("lock", path) { throw error }
      var file: SimulatedFileID
      if let entry = try state.names.entry(of: path, "open"), state.names[entry] == nil {
        file = try state.create(path)
      } else {
        file = try state.names.simulatedFile(at: path, "open")
      }
      if state.files[file.index].isLocked {
        let note = state.files[file.index].cached.prefix(FileLockOutcome.noteSizeLimit)
        return (file, String(decoding: note, as: UTF8.self))
      }
      state.files[file.index].isLocked = true
      // Nothing depends on the note, so its loss is not simulated.
      let left = (state.freeBytes ?? .max) >= note.utf8.count ? Array(note.utf8) : []
      state.files[file.index].cached = left
      state.files[file.index].durable = left
      return (file, nil)
    }
    if let otherNote { return .held(note: otherNote) }
    return .acquired(SimulatedFileLock(file: file, fileSystem: self))
  }
}

extension SimulatedState {
  fileprivate mutating func create(_ path: String) throws(SystemError) -> SimulatedFileID {
    // Checked before a file is made that the error would leave behind.
    guard let entry = try names.entry(of: path, "open"), names[entry] == nil else {
      throw SystemError(call: "open", path: path, code: .exists)
    }
    try checkSpace("open", path)
    let file = makeFile()
    change(try names.creating(file, at: path, "open"))
    return file
  }

  /// Throws if the disk is full: then nothing can be made.
  fileprivate func checkSpace(_ call: String, _ path: String) throws(SystemError) {
    if freeBytes == 0 { throw SystemError(call: call, path: path, code: .noSpace) }
  }
}

/// A lock on a file of a simulated disk.
private final class SimulatedFileLock: FileLock {
  private let file: SimulatedFileID
  private let fileSystem: SimulatedFileSystem
  private let isReleased = Atomic(false)

  init(file: SimulatedFileID, fileSystem: SimulatedFileSystem) {
    self.file = file
    self.fileSystem = fileSystem
  }

  deinit { release() }

  func release() {
    guard !isReleased.exchange(true, ordering: .relaxed) else { return }
    fileSystem.state.withLock { $0.files[file.index].isLocked = false }
  }
}
