import DivanLog
import DivanTesting
import Testing

/// A store directory that has only attachments.
///
/// Chunks and limits are so small that a few hundred bytes reach all code paths.
struct AttachmentFixture {
  let fileSystem: any FileSystem
  let root: String
  var settings: AttachmentFiles.Settings
  let files: AttachmentFiles

  /// Creates a fixture with chunks of 64 bytes and writes of 160 bytes at a time.
  init(
    on fileSystem: any FileSystem = AttachmentFixture.memory(), root: String = "/store",
    isMapped: Bool = false, inlineSizeLimit: Int = 32, chunkCountLimit: Int = 16,
    largestChunk: Int = 1 << 20
  ) {
    self.fileSystem = fileSystem
    self.root = root
    settings = AttachmentFiles.Settings(isMapped: isMapped)
    settings.inlineSizeLimit = inlineSizeLimit
    settings.chunks = AttachmentChunks.Plan(
      smallestSize: 64, largestSize: largestChunk, countLimit: chunkCountLimit)
    settings.bufferSize = 160
    files = AttachmentFiles(StoreDirectory(root, on: fileSystem), settings)
  }

  /// Creates the directories that opening a store leaves.
  static func prepare(_ fileSystem: any FileSystem, _ root: String) throws {
    try fileSystem.makeDirectory(root + "/tmp")
    try fileSystem.flushDirectory(root)
  }

  static func memory() -> any FileSystem {
    let files = MemoryFileSystem()
    do {
      try files.makeDirectory("/store")
      try prepare(files, "/store")
    } catch {
      Issue.record(error)
    }
    return files
  }

  /// Returns a disk on which the directory is durable.
  static func disk(seed: UInt64 = 0) throws -> SimulatedDisk {
    let disk = SimulatedDisk(seed: seed)
    try disk.fileSystem.makeDirectory("/store")
    try disk.fileSystem.flushDirectory("/")
    try prepare(disk.fileSystem, "/store")
    return disk
  }

  /// Returns random bytes, so that no two parts are alike; another `salt` gives others.
  static func blob(_ length: Int, salt: UInt64 = 0) -> SharedBytes {
    var random = SeededGenerator(seed: salt &* 1_000_003 &+ UInt64(length))
    return SharedBytes(copying: (0..<length).map { _ in .random(in: 0...255, using: &random) })
  }

  /// Returns another opening of the same directory.
  func reopened() -> AttachmentFixture {
    var fixture = AttachmentFixture(on: fileSystem, root: root)
    fixture.settings = settings
    return AttachmentFixture(fixture)
  }

  private init(_ other: AttachmentFixture) {
    fileSystem = other.fileSystem
    root = other.root
    settings = other.settings
    files = AttachmentFiles(StoreDirectory(root, on: fileSystem), settings)
  }

  /// The names below `tmp/`.
  var temporaries: [String] { (try? fileSystem.list(root + "/tmp")) ?? [] }

  /// Returns all files by digest, and all other entries.
  func listing() throws -> (files: [AttachmentFileEntry], others: [String]) {
    var files: [AttachmentFileEntry] = []
    let others = try self.files.forEachFile { files.append($0) }
    return (files, others)
  }
}

/// Returns the damage that `body` throws, or nil if it throws none.
func attachmentDamage(_ body: () throws -> Void) -> Damage? {
  do {
    try body()
    return nil
  } catch LogError.damaged(let damage) {
    return damage
  } catch {
    return nil
  }
}

/// Returns the code of the system's error that `body` throws as an error of the log.
func systemCode(_ body: () throws -> Void) -> SystemError.Code? {
  do {
    try body()
    return nil
  } catch LogError.system(let error) {
    return error.code
  } catch {
    return nil
  }
}
