/// The name of a file in `attachments/`. FILE_FORMAT.md §18
///
/// It is 64 lower-case hexadecimal digits, in a folder that is named by the first two of them.
package struct AttachmentName: Hashable, Sendable {
  package let digest: SHA256.Digest

  package init(_ digest: SHA256.Digest) { self.digest = digest }

  /// Parses the path of a file below `attachments/`; nil if it is not that of an attachment.
  package init?(folder: String, file: String) {
    guard let digest = SHA256.Digest(file), file.hasPrefix(folder), folder.utf8.count == 2 else {
      return nil
    }
    self.digest = digest
  }

  /// Whether a folder below `attachments/` is one of those that contain attachments.
  package static func isFolder(_ name: String) -> Bool {
    name.utf8.count == 2
      && name.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }

  /// The folder, below `attachments/`.
  package var folder: String { String(file.prefix(2)) }

  package var file: String { digest.description }
}

extension AttachmentName: CustomStringConvertible {
  /// The path in a store's directory.
  package var description: String { "\(FileName.attachments)/\(folder)/\(file)" }
}
