extension Document {
  /// The attachments of a document, by name.
  ///
  /// ```swift
  /// note.attachments["photo"] = Document.Attachment(contentType: "image/jpeg", jpeg)
  /// for (name, attachment) in note.attachments { print(name, attachment.length) }
  /// ```
  ///
  /// It is used like a dictionary. The attachments are ordered by the bytes of their names. Two
  /// names are equal if their bytes of UTF-8 are: `é` as one scalar and as two are two names, as in
  /// ``Value/Object``.
  public struct Attachments: Sendable {
    /// A name and its attachment.
    public typealias Element = (key: String, value: Attachment)

    private var entries: ByteKeyed<Attachment>

    /// Creates a set without attachments.
    public init() { entries = ByteKeyed() }
  }
}

extension Document.Attachments {
  /// Creates a set from attachments in any order; of those with the same name, the last wins.
  public init(_ attachments: some Sequence<(String, Document.Attachment)>) {
    entries = ByteKeyed(attachments)
  }

  /// The attachment with a name; setting nil removes it.
  public subscript(name: String) -> Document.Attachment? {
    get { entries[name] }
    set { entries[name] = newValue }
  }

  /// Removes the attachment with a name, and returns it.
  @discardableResult
  public mutating func removeValue(forKey name: String) -> Document.Attachment? {
    let removed = entries[name]
    if removed != nil { entries[name] = nil }
    return removed
  }

  /// The names, in order.
  public var keys: some RandomAccessCollection<String> { entries.keys }

  /// The attachments, in the order of their names.
  public var values: some RandomAccessCollection<Document.Attachment> {
    entries.entries.lazy.map(\.value)
  }
}

extension Document.Attachments: RandomAccessCollection {
  /// The position of the first attachment.
  public var startIndex: Int { 0 }
  /// The position after the last attachment.
  public var endIndex: Int { entries.entries.count }
  /// The attachment at a position, in the order of the names.
  public subscript(position: Int) -> Element { entries.entries[position] }
}

extension Document.Attachments: Equatable {
  /// Whether both have the same attachments under the same names.
  public static func == (a: Self, b: Self) -> Bool { a.entries == b.entries }
}

extension Document.Attachments {
  /// Whether both are equal, and have the same digests of other stores.
  func isIdentical(to other: Self) -> Bool {
    self == other
      && zip(values, other.values).allSatisfy { $0.foreignDigest == $1.foreignDigest }
  }
}

extension Document.Attachments: ExpressibleByDictionaryLiteral {
  /// Creates a set of attachments; of those with the same name, the last wins.
  public init(dictionaryLiteral elements: (String, Document.Attachment)...) {
    self.init(elements)
  }
}
