import Synchronization

/// The blobs of attachments in files of their own, named by their digests.
///
/// A file gets its name only when it is whole and flushed. A blob is reported as stored only when
/// the names that lead to it are flushed, too. A record that is written afterwards therefore never
/// names a file that a crash could remove (RECOVERY.md, rule 22). A name always refers to a whole
/// file or to none.
///
/// One instance serves one opening of a store, and any number of threads. If the store is suspended
/// and resumed, each time in between is a *session*, for which the invariants hold as for an
/// opening.
///
/// Invariants:
/// - If `isDurable` is true for a blob, this session has flushed its file and names.
/// - The file of a pinned blob is not removed before the store is closed or suspended.
/// - Once this is closed or suspended, no writer that began before makes or names a file: another
///   opening may be under way.
/// - Once a directory could not be flushed, no file is named: it is unknown whether the earlier
///   names are durable, and the system may report that error only once.
package final class AttachmentFiles: Sendable {
  let directory: StoreDirectory
  let settings: Settings
  /// Guards changes of names, too: otherwise a folder could be removed while a file is moved into
  /// it, and a file while its blob is being pinned.
  let state = Guarded(State())

  package init(_ directory: StoreDirectory, _ settings: Settings) {
    self.directory = directory
    var settings = settings
    if directory.cipher != nil {
      // Whole pieces are sealed, except for the last one.
      let size = BlobEncryption.pieceSize
      settings.bufferSize = (settings.bufferSize + size - 1) / size * size
    }
    self.settings = settings
  }

  package struct Settings: Sendable {
    /// Whether files are read through memory maps, except as streams.
    package var isMapped: Bool
    /// Larger files are mapped only to be read whole: mapped pages count as this process's memory.
    package var retainedMapSizeLimit = 16 << 20
    /// Blobs up to this many bytes get no file.
    package var inlineSizeLimit = AttachmentRecord.inlineSizeLimit
    package var chunks = AttachmentChunks.Plan.standard
    /// The number of bytes that are read, or buffered before they are written, at a time.
    package var bufferSize = 256 << 10
    /// The number of blobs that are recorded as durable; others are flushed again.
    package var durableCountLimit = 1 << 16
    /// The source of the random numbers of encrypted files.
    package var random: @Sendable () -> UInt64 = { UInt64.random(in: 1 ... .max) }

    package init(isMapped: Bool) { self.isMapped = isMapped }
  }

  struct State {
    /// The number of pins on each blob.
    var pins: [SHA256.Digest: Int] = [:]
    /// Blobs whose file and names this opening has flushed.
    var durable: Set<SHA256.Digest> = []
    /// Whether this opening has flushed the name of `attachments/`.
    var isRootDurable = false
    /// Folders whose own names this opening has flushed.
    var durableFolders: Set<String> = []
    /// Folders in which files were removed since the last flush.
    var changedFolders: Set<String> = []
    /// The number of the next temporary file.
    var nextTemporary = 1
    /// The paths of the temporary files that writers write to.
    var temporaries: Set<String> = []
    /// Whether the store was closed, so that its directory no longer belongs to this opening.
    var isClosed = false
    /// Whether the store is suspended, so that its directory may belong to another opening.
    var isSuspended = false
    /// The number of times that the store was suspended.
    var session = 0
    /// The failed flushes of the store's directory before this session made `attachments/` there,
    /// or found it; nil if it has not looked.
    var failureCount: Int?
    /// The error after which no file is named, if there was one.
    var refusal: LogError?
  }
}

// MARK: Paths

extension AttachmentFiles {
  /// The path of `attachments/`.
  var root: String { directory.path(of: .attachments) }

  func path(ofFolder folder: String) -> String { "\(root)/\(folder)" }

  package func path(of digest: SHA256.Digest) -> String {
    "\(directory.path)/\(name(of: digest))"
  }

  /// Returns the name of the file of a blob.
  func name(of digest: SHA256.Digest) -> AttachmentName {
    AttachmentName(directory.cipher?.name(of: digest) ?? digest)
  }

  /// Returns the digest of the blob whose file has a name.
  func digest(of name: AttachmentName) -> SHA256.Digest {
    directory.cipher?.digest(ofName: name.digest) ?? name.digest
  }

  /// Returns how a new file is sealed; nil if the store is not encrypted.
  func makeEncryption() -> BlobEncryption? {
    directory.cipher.map { BlobEncryption($0, random: settings.random) }
  }
}

// MARK: Pins

/// A pin on a blob, which keeps its file from being removed for as long as the pin lives.
package final class AttachmentPin: Sendable {
  package let digest: SHA256.Digest
  /// The number of the session in which it was made.
  package let session: Int
  private let files: AttachmentFiles

  fileprivate init(_ digest: SHA256.Digest, _ files: AttachmentFiles, session: Int) {
    self.digest = digest
    self.files = files
    self.session = session
  }

  deinit { files.release(digest) }
}

extension AttachmentFiles {
  /// Pins a blob, which need not have a file yet.
  package func pin(_ digest: SHA256.Digest) -> AttachmentPin {
    let session = state.withLock { state in
      state.pins[digest, default: 0] += 1
      return state.session
    }
    return AttachmentPin(digest, self, session: session)
  }

  fileprivate func release(_ digest: SHA256.Digest) {
    state.withLock { state in
      if let count = state.pins[digest] { state.pins[digest] = count > 1 ? count - 1 : nil }
    }
  }

  /// Whether this session has flushed the blob's file and its names.
  package func isDurable(_ digest: SHA256.Digest) -> Bool {
    state.withLock { $0.durable.contains(digest) }
  }

  /// The number of the current session, which a writer notes when it begins; the first one is 0.
  package var session: Int { state.withLock { $0.session } }

  /// Throws if a writer of a session may make and name no more files.
  func requireOpen(_ session: Int) throws(LogError) {
    try state.withLock { (state) throws(LogError) in try state.requireOpen(session) }
  }

  /// Removes the record that a blob is durable, because its file proved damaged or missing.
  ///
  /// Each read of the blob that finds this calls it. The next writer of the same blob replaces the
  /// file.
  package func distrust(_ digest: SHA256.Digest) {
    state.withLock { _ = $0.durable.remove(digest) }
  }
}

extension AttachmentFiles.State {
  /// Throws if a writer of a session may make and name no more files.
  func requireOpen(_ session: Int) throws(LogError) {
    guard !isClosed else { throw .closed }
    guard !isSuspended, session == self.session else { throw .suspended }
  }
}

// MARK: Suspension

extension AttachmentFiles {
  /// Ends the making and naming of files until ``resume()``, and removes temporary files.
  ///
  /// Writers that continue get ``LogError/suspended``, also after the store was resumed.
  package func suspend() {
    state.withLock { state in
      state.isSuspended = true
      state.session += 1
      removeTemporaries(&state)
    }
  }

  /// Begins another session.
  ///
  /// Another process may have removed files and folders meanwhile, so nothing counts as durable.
  package func resume() {
    state.withLock { state in
      state.failureCount = nil
      state.isSuspended = false
      state.durable = []
      state.isRootDurable = false
      state.durableFolders = []
      state.changedFolders = []
      state.refusal = nil
    }
  }
}
