import Foundation

extension DatabaseService {
  /// Returns a function that returns pieces of content, which another one returns compressed.
  static func decompressing(
    _ nextCompressed: @escaping () async throws -> Data?
  ) -> () async throws -> Data? {
    var gzip = GzipReader()
    var isAtEnd = false
    return {
      while true {
        do {
          if let piece = try gzip.next() { return piece }
        } catch {
          throw ServiceError.badRequest("An attachment is no valid gzip")
        }
        if isAtEnd { return nil }
        if let data = try await nextCompressed() {
          gzip.add(data)
        } else {
          isAtEnd = true
          gzip.end()
        }
      }
    }
  }
}
