package import DivanLog

/// Writes and reads the stored form of values, which `docs/FILE_FORMAT.md` describes.
///
/// Reuse one to encode many values: it keeps its buffers.
package struct ValueCoding: ~Copyable {
  var encoder = ValueEncoder()

  /// Creates a coder.
  package init() {}
}

extension ValueCoding {
  /// Appends the stored form of `value`.
  ///
  /// - Throws: ``DatabaseError/Code/invalidValue`` for a double that is not finite, with its path;
  ///   ``DatabaseError/Code/documentTooLarge``. In that case `writer` is unchanged.
  package mutating func encode(
    _ value: Value, into writer: inout ByteWriter
  ) throws(DatabaseError) {
    try encoder.encode(into: &writer) { (encoder) throws(DatabaseError) in
      try ValueWalk.feed(value, into: &encoder, .stored)
    }
  }

  /// Returns the stored form of `value`.
  package static func encode(_ value: Value) throws(DatabaseError) -> SharedBytes {
    var coding = ValueCoding()
    var writer = ByteWriter()
    try coding.encode(value, into: &writer)
    return writer.sharedCopy
  }
}
