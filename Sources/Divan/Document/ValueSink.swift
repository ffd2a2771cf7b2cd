/// Something that takes a value piece by piece: in the order of JSON text, without nesting calls.
///
/// Values come from a ``Value``, from stored bytes or from JSON text, and go to a ``Value``, to stored
/// bytes or to JSON text; this is what lies between.
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
  /// Adds a key, whose value is added next. `source` is where it came from.
  mutating func addKey(_ key: Span<UInt8>, source: Int)
  /// Ends an object, and tells if a key appeared twice in it.
  mutating func endObject() -> DuplicateKey?
  /// Whether what was added is more than may be stored.
  var isTooLarge: Bool { get }
}

extension ValueSink where Self: ~Copyable {
  /// False: what nobody stores may be as large as what it is made of.
  var isTooLarge: Bool { false }
}

/// A key that appeared for the second time.
struct DuplicateKey {
  var key: String
  /// Where it came from.
  var source: Int
}

/// How the way to a property is written: `cast[3].height`.
enum PropertyPath {
  /// Appends the step to the property `key`.
  ///
  /// Of a key that is very long only the beginning.
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

  /// How a message says where: ` at cast[3]`, or nothing for the outermost value.
  static func phrase(_ path: String) -> String { path.isEmpty ? "" : " at \(path)" }
}

extension String {
  /// The text, or the beginning of a long one, as messages show it: what is refused for its size must not be written out
  /// in full.
  var excerpt: String {
    let limit = 1024
    guard utf8.count > limit else { return self }
    let end = utf8.index(utf8.startIndex, offsetBy: limit)
    return String(decoding: utf8[..<end], as: UTF8.self) + "…"
  }
}
