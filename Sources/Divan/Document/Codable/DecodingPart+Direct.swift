import DivanLog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The types that are decoded without their own `init(from:)`.
enum DirectType {
  case string, int, double, bool, date, data, url, uuid, decimal, value
  case strings, ints, doubles

  /// The case for a type; nil for other types.
  init?(_ type: Any.Type) {
    if type == String.self {
      self = .string
    } else if type == Int.self {
      self = .int
    } else if type == Double.self {
      self = .double
    } else if type == Bool.self {
      self = .bool
    } else if type == [String].self {
      self = .strings
    } else if type == Date.self {
      self = .date
    } else if type == Data.self {
      self = .data
    } else if type == URL.self {
      self = .url
    } else if type == UUID.self {
      self = .uuid
    } else if type == Decimal.self {
      self = .decimal
    } else if type == [Int].self {
      self = .ints
    } else if type == [Double].self {
      self = .doubles
    } else if type == Value.self {
      self = .value
    } else {
      return nil
    }
  }

  /// Whether the type is an array; decoding one on its own path reports which element is wrong.
  var isArray: Bool {
    switch self {
    case .strings, .ints, .doubles: true
    default: false
    }
  }
}

extension DecodingPart {
  /// Reads the value in a range as the type of `direct`.
  func read<T>(_ direct: DirectType, _ type: T.Type, _ range: Range<Int>) throws(TypeMismatch) -> T
  {
    switch direct {
    case .string: return identical(try string(range), as: type)
    case .int: return identical(try integer(range) as Int, as: type)
    case .double: return identical(try double(range), as: type)
    case .bool: return identical(try bool(range), as: type)
    case .date: return identical(try date(range), as: type)
    case .data:
      guard let data = Data(base64Encoded: try string(range)) else { throw .form }
      return identical(data, as: type)
    case .url:
      guard let url = StoredText.url(of: try string(range)) else { throw .form }
      return identical(url, as: type)
    case .uuid:
      guard let uuid = UUID(uuidString: try string(range)) else { throw .form }
      return identical(uuid, as: type)
    case .decimal: return identical(try decimal(range), as: type)
    case .value:
      session.keys?.noteWhole(at: offset + range.lowerBound)
      return identical(try value(range), as: type)
    case .strings:
      return identical(
        try array(range) { (range) throws(TypeMismatch) in try string(range) }, as: type)
    case .ints:
      return identical(
        try array(range) { (range) throws(TypeMismatch) in try integer(range) as Int }, as: type)
    case .doubles:
      return identical(
        try array(range) { (range) throws(TypeMismatch) in try double(range) }, as: type)
    }
  }

  private func date(_ range: Range<Int>) throws(TypeMismatch) -> Date {
    let text = try text(range)
    guard let date = bytes.withSpan({ ISO8601Date.date(of: $0.extracting(text)) }) else {
      throw .form
    }
    return date
  }

  func isNull(_ range: Range<Int>) -> Bool {
    range.count == 1 && bytes[range.lowerBound] == ValueFormat.Tag.null
  }

  func bool(_ range: Range<Int>) throws(TypeMismatch) -> Bool {
    if range.count == 1 {
      if bytes[range.lowerBound] == ValueFormat.Tag.yes { return true }
      if bytes[range.lowerBound] == ValueFormat.Tag.no { return false }
    }
    throw typeMismatch(range)
  }

  func string(_ range: Range<Int>) throws(TypeMismatch) -> String {
    let text = try text(range)
    guard let string = bytes.withSpan({ String(utf8: $0.extracting(text)) }) else {
      throw .damaged
    }
    return string
  }

  /// Returns the range of the bytes of a text.
  private func text(_ range: Range<Int>) throws(TypeMismatch) -> Range<Int> {
    guard let text = bytes.withSpan({ ValueFormat.text($0, range) }) else {
      throw typeMismatch(range)
    }
    return text
  }

  /// Reads a whole number, also one that another program stored with a fraction of zero.
  func integer<I: FixedWidthInteger>(_ range: Range<Int>) throws(TypeMismatch) -> I {
    let number: I? = try bytes.withSpan { (bytes) throws(TypeMismatch) in
      try NumberReading.integer(bytes, range)
    }
    guard let number else { throw typeMismatch(range) }
    return number
  }

  /// Reads a number, also a whole one.
  func double(_ range: Range<Int>) throws(TypeMismatch) -> Double {
    let number = try bytes.withSpan { (bytes) throws(TypeMismatch) in
      try NumberReading.double(bytes, range)
    }
    guard let number else { throw typeMismatch(range) }
    return number
  }

  func float(_ range: Range<Int>) throws(TypeMismatch) -> Float {
    let number = try bytes.withSpan { (bytes) throws(TypeMismatch) in
      try NumberReading.float(bytes, range)
    }
    guard let number else { throw typeMismatch(range) }
    return number
  }

  /// Reads a decimal number: a text, or a number, as other programs may write it.
  private func decimal(_ range: Range<Int>) throws(TypeMismatch) -> Decimal {
    if let small = bytes.withSpan({ ValueFormat.int64($0, range) }) { return Decimal(small) }
    if let large = bytes.withSpan({ NumberReading.unsigned($0, range) }) { return Decimal(large) }
    let text =
      bytes.withSpan { ValueFormat.double($0, range) }.map(\.description) ?? ""
    guard let number = StoredText.decimal(of: text.isEmpty ? try string(range) : text) else {
      throw .form
    }
    return number
  }

  private func value(_ range: Range<Int>) throws(TypeMismatch) -> Value {
    guard let slice = bytes.slice(range.lowerBound, range.count),
      let value = try? EncodedValue(slice).decode()
    else { throw .damaged }
    return value
  }

  @inline(__always)
  private func array<Element>(
    _ range: Range<Int>, _ element: (Range<Int>) throws(TypeMismatch) -> Element
  ) throws(TypeMismatch) -> [Element] {
    let array = try container(range, isObject: false)
    var elements: [Element] = []
    // Every element has at least a byte.
    elements.reserveCapacity(min(array.count ?? 4, array.end - array.start))
    var position = array.start
    while position < array.end {
      let end = bytes.withSpan { ValueFormat.skip($0, at: position, end: array.end) }
      guard let end else { throw .damaged }
      elements.append(try element(position..<end))
      position = end
    }
    return elements
  }

  /// Returns why a value is not of the requested type.
  func typeMismatch(_ range: Range<Int>) -> TypeMismatch {
    if isNull(range) { return .null }
    guard let slice = bytes.slice(range.lowerBound, range.count),
      let kind = EncodedValue(slice).kind
    else { return .damaged }
    return .kind(kind)
  }
}

extension ValueFormat {
  /// The double that fills `range`, if it is one.
  static func double(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Double? {
    guard !range.isEmpty, bytes[range.lowerBound] >= Tag.negativeZero,
      skip(bytes, at: range.lowerBound, end: range.upperBound) == range.upperBound
    else { return nil }
    return double(bytes, at: range.lowerBound)
  }
}
