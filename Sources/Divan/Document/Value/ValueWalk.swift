import DivanLog

/// Feeds a ``Value`` into a sink, without recursion.
struct ValueWalk {
  private var open: [Level] = []

  /// A container, and the index of its next element.
  private enum Level {
    case array([Value], next: Int)
    case object(Value.Object, next: Int)
  }

  /// The requirements for a value that is fed into a sink.
  enum Checks {
    /// The value must be storable.
    case stored
    /// Any value; a double that is not finite is fed as null.
    case none
    /// Any value, fed unchanged.
    case unchanged
  }

  /// Feeds `value` into `sink`.
  static func feed(
    _ value: Value, into sink: inout some ValueSink & ~Copyable, _ checks: Checks
  ) throws(DatabaseError) {
    var walk = ValueWalk()
    try walk.feed(value, into: &sink, checks)
  }

  private mutating func feed(
    _ value: Value, into sink: inout some ValueSink & ~Copyable, _ checks: Checks
  ) throws(DatabaseError) {
    var current: Value? = value
    while true {
      if let value = current { try feedOne(value, into: &sink, checks) }
      guard let level = open.popLast() else { return }
      switch level {
      case .array(let elements, let next):
        if next < elements.count {
          open.append(.array(elements, next: next + 1))
          current = elements[next]
        } else {
          sink.endArray()
          current = nil
        }
      case .object(let object, let next):
        if next < object.count {
          open.append(.object(object, next: next + 1))
          let (key, value) = object[next]
          try checkSize(key, checks)
          withUTF8(of: key) { sink.addKey($0, source: 0) }
          current = value
        } else {
          // The keys of an object are distinct.
          _ = sink.endObject()
          current = nil
        }
      }
      if checks == .stored, sink.isTooLarge { throw DocumentLimits.sizeError }
    }
  }

  private mutating func feedOne(
    _ value: Value, into sink: inout some ValueSink & ~Copyable, _ checks: Checks
  ) throws(DatabaseError) {
    switch value {
    case .null: sink.addNull()
    case .bool(let value): sink.add(value)
    case .int(let value): sink.add(value)
    case .unsigned(let value):
      if let small = Int64(exactly: value) { sink.add(small) } else { sink.add(unsigned: value) }
    case .double(let value):
      if value.isFinite || checks == .unchanged {
        sink.add(value)
      } else if checks == .none {
        sink.addNull()
      } else {
        throw DatabaseError(
          .invalidValue, "\(value) cannot be stored\(PropertyPath.phrase(path))",
          hint: "Store null, or a text.")
      }
    case .string(let text):
      try checkSize(text, checks)
      withUTF8(of: text) { sink.add(text: $0) }
    case .array(let elements):
      try checkDepth(checks)
      sink.beginArray()
      open.append(.array(elements, next: 0))
    case .object(let object):
      try checkDepth(checks)
      sink.beginObject()
      open.append(.object(object, next: 0))
    }
  }

  private func checkDepth(_ checks: Checks) throws(DatabaseError) {
    guard checks != .stored || open.count < DocumentLimits.depth else {
      throw DocumentLimits.depthError(path: path)
    }
  }

  private func checkSize(_ text: String, _ checks: Checks) throws(DatabaseError) {
    // Offsets within a document have 32 bits, so no single text may exceed them.
    guard checks != .stored || text.utf8.count <= DocumentLimits.sizeInBytes else {
      throw DocumentLimits.sizeError
    }
  }

  /// The path to the value that is fed.
  private var path: String {
    var path = ""
    for level in open {
      switch level {
      case .array(_, let next): PropertyPath.append(index: next - 1, to: &path)
      case .object(let object, let next):
        PropertyPath.append(key: object[next - 1].key, to: &path)
      }
    }
    return path
  }
}
