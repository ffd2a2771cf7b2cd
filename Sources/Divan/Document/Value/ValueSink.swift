/// A receiver of a value piece by piece: in the order of JSON text, without nested calls.
///
/// It is the interface between the sources of values (a ``Value``, stored bytes, JSON text) and
/// their destinations (the same three).
protocol ValueSink: ~Copyable {
  mutating func addNull()
  mutating func add(_ value: Bool)
  mutating func add(_ value: Int64)
  /// Adds a number that does not fit `Int64`.
  mutating func add(unsigned value: UInt64)
  /// Adds a finite double.
  mutating func add(_ value: Double)
  /// Adds a text that is valid UTF-8.
  mutating func add(text: Span<UInt8>)
  mutating func beginArray()
  mutating func endArray()
  mutating func beginObject()
  /// Adds a key, whose value is added next. `source` is its origin.
  mutating func addKey(_ key: Span<UInt8>, source: Int)
  /// Ends an object, and returns a key that occurs twice in it.
  mutating func endObject() -> DuplicateKey?
  /// Whether more was added than may be stored.
  var isTooLarge: Bool { get }
}

extension ValueSink where Self: ~Copyable {
  /// False: a result that is not stored may be as large as its source.
  var isTooLarge: Bool { false }
}

/// A key that occurred for the second time.
struct DuplicateKey {
  var key: String
  /// The origin of the key.
  var source: Int
}

/// The text form of the path to a property: `cast[3].height`.
enum PropertyPath {
  /// Appends the step to the property `key`.
  ///
  /// A very long key is truncated.
  static func append(key: String, to path: inout String) {
    let key = key.excerpt
    let isPlain =
      !key.isEmpty
      && key.unicodeScalars.allSatisfy {
        $0.properties.isAlphabetic || $0.properties.numericType != nil || $0 == "_" || $0 == "-"
      }
    if !isPlain {
      path += "[\(key.debugDescription)]"
    } else {
      path += path.isEmpty ? key : ".\(key)"
    }
  }

  /// Appends the step to the element at `index`.
  static func append(index: Int, to path: inout String) { path += "[\(index)]" }

  /// Returns the position for a message: ` at cast[3]`, or nothing for the outermost value.
  static func phrase(_ path: String) -> String { path.isEmpty ? "" : " at \(path)" }
}

extension String {
  /// The text for messages; a long one is truncated.
  ///
  /// A text that is rejected for its size must not be printed in full.
  var excerpt: String {
    let limit = 1024
    guard utf8.count > limit else { return self }
    let end = utf8.index(utf8.startIndex, offsetBy: limit)
    return String(decoding: utf8[..<end], as: UTF8.self) + "…"
  }
}
