public import Divan
import DivanLog

/// Documents as a text that is the same in every run, for comparison with one that was recorded.
///
/// ```swift
/// let text = try DocumentText(of: database)
/// try text.requireEqual(toFile: "Expected/trips.txt")
/// ```
///
/// Each document begins with its ID, and each property has a line:
///
/// ```text
/// elbe
///   nights: 3
///   stops:
///     -
///       place: "Dresden"
///   tags:
///     - "rail"
///   title: "Along the Elbe"
///
/// lisbon
///   title: "Lisbon"
/// ```
///
/// Documents are sorted by the bytes of their IDs, and properties by the bytes of their names.
/// Values are JSON. Names and IDs with other characters than letters, digits and some marks are
/// JSON, too. Attachments are under `_attachments`, with their type, size and digest. Revision IDs
/// are left out, unless you ask for them, since they depend on the history. If IDs or times are
/// different in each run, let the test set them (`Configuration.documentIDs`, `Configuration.now`),
/// or leave properties out.
public struct DocumentText: Sendable, Hashable {
  /// The text, without a newline at the end; empty if there are no documents.
  public let text: String

  /// Creates the text of documents.
  ///
  /// - Parameters:
  ///   - documents: The documents, in any order.
  ///   - names: Names of properties that are left out, in all documents.
  ///   - showsRevisions: Whether the text has revision IDs, under `_rev`.
  public init(
    _ documents: some Sequence<Document>, leavingOut names: Set<String> = [],
    showsRevisions: Bool = false
  ) {
    text =
      documents.sorted { compareUTF8($0.id, $1.id) < 0 }
      .map { document in
        DocumentText.lines(of: document, leavingOut: names, showsRevisions: showsRevisions)
          .joined(separator: "\n")
      }
      .joined(separator: "\n\n")
  }

  /// Creates the text of all documents of a database, except deleted ones.
  ///
  /// - Throws: The errors of reading.
  public init(
    of database: Database, leavingOut names: Set<String> = [], showsRevisions: Bool = false
  ) throws {
    try self.init(
      of: try database.snapshot(), leavingOut: names, showsRevisions: showsRevisions)
  }

  /// Creates the text of all documents of a snapshot, except deleted ones.
  ///
  /// - Throws: The errors of reading.
  public init(
    of snapshot: Snapshot, leavingOut names: Set<String> = [], showsRevisions: Bool = false
  ) throws {
    self.init(
      try snapshot.documents().collect(), leavingOut: names, showsRevisions: showsRevisions)
  }

  /// Creates the text of the documents that match a query, in the order of their IDs.
  ///
  /// - Throws: The errors of finding documents.
  public init<Subject>(
    of query: Query<Subject>, in snapshot: Snapshot, leavingOut names: Set<String> = [],
    showsRevisions: Bool = false
  ) throws {
    let documents = try snapshot.documents(try snapshot.ids(query)).compactMap(\.self)
    self.init(documents, leavingOut: names, showsRevisions: showsRevisions)
  }
}

extension DocumentText: CustomStringConvertible, ExpressibleByStringLiteral {
  /// Creates the text that a test expects.
  public init(stringLiteral text: String) { self.text = DocumentText.withoutNewlinesAtEnd(text) }

  /// ``text``.
  public var description: String { text }

  static func withoutNewlinesAtEnd(_ text: String) -> String {
    let end = text.utf8.lastIndex { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
    return end.map { String(Substring(text.utf8[...$0])) } ?? ""
  }

  /// Whether two texts have the same bytes.
  public static func == (a: DocumentText, b: DocumentText) -> Bool { haveSameUTF8(a.text, b.text) }

  /// Feeds the bytes of the text into the hasher.
  public func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }
}

extension DocumentText {
  private static func lines(
    of document: Document, leavingOut names: Set<String>, showsRevisions: Bool
  ) -> [String] {
    var lines = [name(document.id, marks: "_-.:@/+")]
    if showsRevisions, let revision = document.revision { lines.append("  _rev: \(revision)") }
    for (key, value) in document.properties where !names.contains(key) {
      append(value, after: "  \(name(key)):", indentation: "    ", to: &lines)
    }
    guard !document.attachments.isEmpty else { return lines }
    lines.append("  _attachments:")
    for (key, attachment) in document.attachments {
      let digest = attachment.digest.map { ", \($0)" } ?? ""
      lines.append(
        "    \(name(key, marks: "_-.")): "
          + "\(attachment.contentType), \(attachment.length) bytes\(digest)")
    }
    return lines
  }

  private static func append(
    _ value: Value, after start: String, indentation: String, to lines: inout [String]
  ) {
    switch value {
    case .object(let object) where !object.isEmpty:
      lines.append(start)
      for (key, value) in object {
        append(
          value, after: "\(indentation)\(name(key)):", indentation: indentation + "  ", to: &lines)
      }
    case .array(let elements) where !elements.isEmpty:
      lines.append(start)
      for element in elements {
        append(element, after: indentation + "-", indentation: indentation + "  ", to: &lines)
      }
    default: lines.append("\(start) \(value.json)")
    }
  }

  /// Returns a name as it is, or as JSON if it has other characters than letters and digits.
  private static func name(_ text: String, marks: String = "_-") -> String {
    let isPlain = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: marks.utf8.contains(byte)
      }
    }
    return isPlain && !text.isEmpty ? text : Value.string(text).json
  }
}
