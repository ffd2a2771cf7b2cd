import DivanLog

extension Version {
  /// Returns the index entry of a document; nil if there is none.
  ///
  /// If the entry is invalid, returns nil and sets `problem`.
  func entry(
    _ id: Span<UInt8>, isProbablyThere: Bool = true, _ problem: inout ByteError?
  ) throws(PageError) -> DocumentEntry? {
    let found = try documents.withValue(of: id, isProbablyThere: isProbablyThere) {
      value -> DocumentEntry? in
      do throws(ByteError) {
        return try DocumentEntry.decode(value)
      } catch {
        problem = error
        return nil
      }
    }
    return found.flatMap { $0 }
  }
}
