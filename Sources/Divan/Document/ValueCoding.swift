package import DivanLog

/// Writes and reads the stored form of values, which `docs/FILE_FORMAT.md` describes.
///
/// Keep one to encode many values: it keeps the room that it worked in.
package struct ValueCoding: ~Copyable {
  var encoder = ValueEncoder()

  /// Makes a coder.
  package init() {}
}

extension ValueCoding {
  /// Appends the stored form of `value`.
  ///
  /// - Throws: ``DatabaseError/Code/invalidValue`` for a double that is not finite, with its path;
  ///   ``DatabaseError/Code/documentTooLarge``. Then `writer` is as it was.
  package mutating func encode(
    _ value: Value, into writer: inout ByteWriter
  ) throws(DatabaseError) {
    try encoder.encode(into: &writer) { (encoder) throws(DatabaseError) in
      try ValueWalk.feed(value, into: &encoder, .stored)
    }
  }

  /// The stored form of `value`, by itself.
  package static func encode(_ value: Value) throws(DatabaseError) -> SharedBytes {
    var coding = ValueCoding()
    var writer = ByteWriter()
    try coding.encode(value, into: &writer)
    return writer.sharedCopy
  }
}
