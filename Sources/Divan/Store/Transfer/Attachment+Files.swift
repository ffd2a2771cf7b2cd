import DivanLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Document.Attachment {
  /// Writes the content to a new file, checked against its digest.
  ///
  /// ```swift
  /// try await film.attachments["poster"]?.write(to: path)
  /// ```
  ///
  /// The file gets its name when it is complete and flushed. If writing fails, nothing is left.
  /// Takes memory for one piece of the content, mostly 64 KiB.
  ///
  /// - Parameter file: The path of the file, which must not exist.
  /// - Throws: ``DatabaseError`` with the codes `alreadyExists`, `diskFull`, `accessDenied` or
  ///   `inputOutput`, and the errors of ``data()-4s5kk``.
  public func write(to file: String) throws {
    try write(to: file, isCancelled: { false })
  }

  /// Writes the content to a new file without blocking the calling thread.
  ///
  /// A cancelled task gets ``DatabaseError/Code/cancelled``, and nothing is left.
  public func write(to file: String) async throws {
    try await Database.run { isCancelled in try self.write(to: file, isCancelled: isCancelled) }
  }

  private func write(to file: String, isCancelled: () -> Bool) throws {
    var pieces = try pieces()
    let files = UserFiles(fileSystem: POSIXFileSystem(), nonce: .random(in: 0...(.max)))
    try files.write(file) {
      if isCancelled() {
        throw DatabaseError(.cancelled, "writing the attachment was cancelled", path: file)
      }
      return try pieces.next().map { SharedBytes(copying: Array($0)) }
    }
  }
}

extension Document.Attachment {
  /// Creates an attachment from the contents of a file, as `init(contentType:file:)` with a path
  /// does.
  public init(contentType: String, file url: URL) throws {
    try self.init(contentType: contentType, file: url.filePath())
  }

  /// Writes the content to a new file, as `write(to:)` with a path does.
  public func write(to url: URL) throws { try write(to: url.filePath()) }

  /// Writes the content to a new file without blocking the calling thread.
  public func write(to url: URL) async throws { try await write(to: url.filePath()) }
}
