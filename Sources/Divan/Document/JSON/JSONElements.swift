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
  private var elements: JSON.Elements

  /// Creates a reader of a JSON text in UTF-8.
  public init(_ text: some Sequence<UInt8>) {
    elements = JSON.elements(of: SharedBytes(copying: Array(text)))
  }

  /// Returns the next value; nil at the end.
  ///
  /// - Throws: The same errors as ``Value/init(json:)-(String)``; the error's
  ///   ``DatabaseError/offset`` is the byte in the whole text. After an error, every further call
  ///   throws the same error.
  public mutating func next() throws -> Value? { try elements.next() }
}
