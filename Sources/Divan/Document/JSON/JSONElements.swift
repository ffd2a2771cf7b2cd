import DivanLog

/// Reads the values of a JSON text that contains many, one at a time, for importing.
///
/// The text is one array, or a sequence of values, as in JSON Lines: a text that begins with a
/// bracket is an array. In addition to the text, only the current value is in memory.
///
/// ```swift
/// var films = JSONElements(bytes)
/// while let film = try films.next() { … }
/// ```
public struct JSONElements: Cursor {
  private let bytes: SharedBytes
  private var position = 0
  private var state = State.atStart

  private enum State {
    case atStart
    case inArray
    case inLines
    case atEnd
    case failed(DatabaseError)
  }

  /// Creates a reader of a JSON text in UTF-8.
  public init(_ text: some Sequence<UInt8>) {
    bytes = SharedBytes(copying: Array(text))
  }

  /// Returns the next value; nil at the end.
  ///
  /// - Throws: The same errors as ``Value/init(json:)-(String)``; the error's
  ///   ``DatabaseError/offset`` is the byte in the whole text. After an error, every further call
  ///   throws the same error.
  public mutating func next() throws -> Value? {
    do throws(DatabaseError) {
      return try bytes.withSpan { (bytes) throws(DatabaseError) -> Value? in
        try findElement(bytes)
        if case .atEnd = state { return nil }
        var parser = JSONParser(position: position)
        var builder = ValueBuilder()
        try parser.parseValue(bytes, into: &builder)
        position = parser.position
        return builder.value
      }
    } catch {
      state = .failed(error)
      throw error
    }
  }

  /// Moves to the beginning of the next element, or finds that there is none.
  private mutating func findElement(_ bytes: Span<UInt8>) throws(DatabaseError) {
    var parser = JSONParser(position: position)
    parser.skipSpace(bytes)
    defer { position = parser.position }
    switch state {
    case .failed(let error): throw error
    case .atEnd: return
    case .atStart:
      if let offset = firstInvalidUTF8(in: bytes) {
        throw DatabaseError(.invalidJSON, "The JSON text is not valid UTF-8", offset: offset)
      }
      guard parser.skip(UInt8(ascii: "["), bytes) else {
        state = parser.position < bytes.count ? .inLines : .atEnd
        break
      }
      state = .inArray
      parser.skipSpace(bytes)
      if parser.skip(UInt8(ascii: "]"), bytes) { try endArray(&parser, bytes) }
    case .inArray:
      if parser.skip(UInt8(ascii: "]"), bytes) {
        try endArray(&parser, bytes)
      } else if !parser.skip(UInt8(ascii: ","), bytes) {
        throw parser.error("A comma or the end of an array is missing", bytes)
      }
    case .inLines:
      if parser.position == bytes.count { state = .atEnd }
    }
  }

  private mutating func endArray(
    _ parser: inout JSONParser, _ bytes: Span<UInt8>
  ) throws(DatabaseError) {
    parser.skipSpace(bytes)
    guard parser.position == bytes.count else {
      throw parser.error("Something follows the end of the array", bytes)
    }
    state = .atEnd
  }
}
