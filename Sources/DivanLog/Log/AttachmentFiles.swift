import Synchronization

/// The bodies of attachments that stand in files of their own, named by what is in them.
///
/// A file gets its name only when it is whole and flushed, and a body is reported as stored only when the
/// names that lead to it are flushed, too; so a record that is written afterwards never names what a crash
/// could take (RECOVERY.md, rule 22). Whatever happens, under a name stands a whole file or none.
///
/// One of these serves one opening of a store, and any number of threads.
///
/// Invariants:
/// - What `isDurable` holds of a body was flushed by this opening, file and names.
/// - A file on which there is a hold is not removed before the store is closed.
/// - Once it is closed, no file is made or named any more: the next opening may be under way.
/// - Once a directory could not be flushed, no file is named any more: whether the names before are
///   durable is not known, and the system may report that error only once.
package final class AttachmentFiles: Sendable {
  let directory: StoreDirectory
  let settings: Settings
  /// Held also while names are changed, so that no folder is removed from under a file, and no file under
  /// a hold that is just being taken.
  let state = Guarded(State())

  package init(_ directory: StoreDirectory, _ settings: Settings) {
    self.directory = directory
    self.settings = settings
  }

  package struct Settings: Sendable {
    /// Whether files are read through memory maps, except as streams.
    package var isMapped: Bool
    /// Larger files are mapped only to be read as a whole: pages of a map count as this process's memory.
    package var heldMapSizeLimit = 16 << 20
    /// Bodies up to this many bytes get no file.
    package var inlineSizeLimit = AttachmentRecord.inlineSizeLimit
    package var chunks = AttachmentChunks.Plan.standard
    /// How many bytes are read, or kept until they are written, at a time.
    package var bufferSize = 256 << 10
    /// Of so many bodies it is remembered that they are durable; of more they are flushed once more.
    package var durableCountLimit = 1 << 16

    package init(isMapped: Bool) { self.isMapped = isMapped }
  }

  struct State {
    /// How often each body is held.
    var holds: [SHA256.Digest: Int] = [:]
    /// Bodies whose file and names this opening has flushed.
    var durable: Set<SHA256.Digest> = []
    /// Whether this opening has flushed the name of `attachments/`.
    var isRootDurable = false
    /// Folders whose own names this opening has flushed.
    var durableFolders: Set<String> = []
    /// Folders in which files were removed since they were flushed.
    var changedFolders: Set<String> = []
    /// The number of the next temporary file.
    var nextTemporary = 1
    /// The paths of the temporary files that writers write to.
    var temporaries: Set<String> = []
    /// Whether the store was closed, so that nothing in its directory is this opening's any more.
    var isClosed = false
    /// Why no file is named any more.
    var refusal: LogError?
  }
}

// MARK: Paths

extension AttachmentFiles {
  /// The path of `attachments/`.
  var root: String { directory.path(of: .attachments) }

  func path(ofFolder folder: String) -> String { "\(root)/\(folder)" }

  package func path(of digest: SHA256.Digest) -> String {
    "\(directory.path)/\(AttachmentName(digest))"
  }
}

// MARK: Holds

/// Keeps the file of a body from being removed, for as long as it lives.
package final class AttachmentHold: Sendable {
  package let digest: SHA256.Digest
  private let files: AttachmentFiles

  fileprivate init(_ digest: SHA256.Digest, _ files: AttachmentFiles) {
    self.digest = digest
    self.files = files
  }

  deinit { files.release(digest) }
}

extension AttachmentFiles {
  /// Holds a body, whether it has a file yet or not.
  package func hold(_ digest: SHA256.Digest) -> AttachmentHold {
    state.withLock { $0.holds[digest, default: 0] += 1 }
    return AttachmentHold(digest, self)
  }

  fileprivate func release(_ digest: SHA256.Digest) {
    state.withLock { state in
      if let count = state.holds[digest] { state.holds[digest] = count > 1 ? count - 1 : nil }
    }
  }

  /// Whether this opening knows that the body stands in its file, and flushed it and its names.
  func isDurable(_ digest: SHA256.Digest) -> Bool {
    state.withLock { $0.durable.contains(digest) }
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Forgets that a body is durable: its file proved damaged or missing.
  ///
  /// Who stores the same body next replaces the file.
  package func distrust(_ digest: SHA256.Digest) {
    state.withLock { _ = $0.durable.remove(digest) }
  }
}
