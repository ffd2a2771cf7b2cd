import DivanLog

/// The identity of a filter: filters with the same one have the same result for every document.
///
/// It is a serialized form of the filter. Each part follows a byte for its kind, and every text
/// follows its size, so different filters have different forms.
struct FilterIdentity: Sendable, Equatable {
  private var bytes: [UInt8] = []

  /// The maximum size in bytes; longer forms, such as of a thousand values, are not worth caching.
  private static let sizeLimit = 2048

  /// Creates the identity of a filter; nil if it cannot be cached.
  ///
  /// A filter that calls code or reads other documents cannot be cached, because its result for a
  /// document may change. Neither can one that searches text, whose result depends on an index, or
  /// one whose form is too long.
  init?(_ filter: FilterExpression) {
    var writer = ByteWriter()
    guard filter.write(to: &writer), writer.count <= FilterIdentity.sizeLimit else { return nil }
    bytes = writer.array
  }
}

extension FilterExpression {
  /// Writes the serialized form; returns false if there is none.
  fileprivate func write(to writer: inout ByteWriter) -> Bool {
    switch self {
    case .custom, .refused, .fullText: return false
    case .all: writer.append(0 as UInt8)
    case .nothing: writer.append(1 as UInt8)
    case .not(let part):
      writer.append(2 as UInt8)
      return part.write(to: &writer)
    case .and(let parts):
      writer.append(3 as UInt8)
      return FilterExpression.write(parts, to: &writer)
    case .or(let parts):
      writer.append(4 as UInt8)
      return FilterExpression.write(parts, to: &writer)
    case .test(let path, let test):
      writer.append(5 as UInt8)
      return path.write(to: &writer) && test.write(to: &writer)
    case .anyElement(let path, let part):
      writer.append(6 as UInt8)
      return path.write(to: &writer) && part.write(to: &writer)
    case .everyElement(let path, let part):
      writer.append(7 as UInt8)
      return path.write(to: &writer) && part.write(to: &writer)
    }
    return true
  }

  private static func write(_ parts: [FilterExpression], to writer: inout ByteWriter) -> Bool {
    writer.appendVarint(parts.count)
    return parts.allSatisfy { $0.write(to: &writer) }
  }
}

extension QueryPath {
  fileprivate func write(to writer: inout ByteWriter) -> Bool {
    writer.append((isDocumentID ? 1 : 0) | (measure == .count ? 2 : 0) as UInt8)
    writer.appendVarint(steps.count)
    for step in steps {
      switch step {
      case .reference: return false
      case .key(let key):
        writer.append(0 as UInt8)
        writer.append(sized: key)
      case .element(let index):
        writer.append(1 as UInt8)
        writer.appendVarint(UInt64(bitPattern: Int64(index)))
      }
    }
    return true
  }
}

extension ComparisonOperator {
  fileprivate func write(to writer: inout ByteWriter) -> Bool {
    switch self {
    case .isMissing: writer.append(0 as UInt8)
    case .equal(let value):
      writer.append(1 as UInt8)
      return writer.append(sized: value)
    case .order(let order, let value):
      writer.append(2 as UInt8)
      writer.append(sized: order.rawValue)
      return writer.append(sized: value)
    case .oneOf(let values):
      writer.append(3 as UInt8)
      writer.appendVarint(values.count)
      return values.allSatisfy { writer.append(sized: $0) }
    case .text(let match, let text, let ignored):
      writer.append(4 as UInt8)
      writer.append(match.rawValue)
      writer.append(ignored.rawValue)
      writer.append(sized: text)
    }
    return true
  }
}

extension ByteWriter {
  fileprivate mutating func append(sized text: String) {
    appendVarint(text.utf8.count)
    append(utf8: text)
  }

  /// Appends the stored form of a value; returns false if it has none.
  fileprivate mutating func append(sized value: Value) -> Bool {
    guard let form = try? ValueEncoder.encode(value) else { return false }
    appendVarint(form.count)
    append(form)
    return true
  }
}
