import DivanLog

/// The values in a JSON text that holds many, one after the other, for importing.
///
/// The text is one array, or values one after the other, as in JSON Lines: one that begins with a
/// bracket is an array. Only the value that is read is in memory as such, besides the text itself.
///
/// ```swift
/// var films = JSONElements(bytes)
/// while let film = try films.next() { … }
/// ```
public struct JSONElements {
  private var elements: JSON.Elements

  /// Makes a reader of a JSON text in UTF-8.
  public init(_ text: some Sequence<UInt8>) {
    elements = JSON.elements(of: SharedBytes(copying: Array(text)))
  }

  /// The next value; nil at the end.
  ///
  /// - Throws: as ``Value/init(json:)-(String)``; the error's ``DatabaseError/offset`` is the byte in the whole
  ///   text. Once it has thrown, it throws the same for ever.
  public mutating func next() throws -> Value? { try elements.next() }
}
