/// The bytes of a blob in a file of its own.
///
/// Every byte of a blob that is read from a file passes here.
struct BlobBytes: Sendable {
  private let file: any OpenFile

  init(_ file: any OpenFile) { self.file = file }

  var path: String { file.path }
}

extension BlobBytes {
  /// The length of the blob, as far as the file's size shows it, in bytes.
  func length() throws(LogError) -> Int {
    try attempt { () throws(SystemError) in try file.size() }
  }

  /// Returns `count` bytes from `offset` on; fewer only at the end of the blob.
  func read(_ count: Int, at offset: Int) throws(LogError) -> SharedBytes {
    try attempt { () throws(SystemError) in try file.read(count, at: offset) }
  }

  /// Appends up to `count` bytes from `offset` on, and returns how many; 0 only at the end.
  func read(
    _ count: Int, at offset: Int, into writer: inout ByteWriter
  ) throws(LogError) -> Int {
    do throws(SystemError) {
      return try file.read(count, at: offset, into: &writer)
    } catch {
      throw .system(error)
    }
  }

  /// Returns the first `count` bytes as a memory map; nil if the system has no room for it.
  func map(_ count: Int) -> SharedBytes? { try? file.map(count) }

  func close() { try? file.close() }
}
