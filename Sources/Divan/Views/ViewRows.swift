/// A row of a view, or a value that several rows were reduced to.
///
/// ```swift
/// for row in try database.rows(of: perYear, .all.grouped()) {
///   print(row.key.json, row.value.json)
/// }
/// ```
public struct ViewRow: Sendable, Hashable {
  /// The emitted key; for a group, the common part of its keys; null for all rows reduced to one.
  public let key: Value
  /// The emitted value, or the value that the rows were reduced to.
  public let value: Value
  /// The ID of the document that the row was emitted for; nil if rows were reduced.
  public let sourceID: String?

  init(key: Value, value: Value, sourceID: String? = nil) {
    self.key = key
    self.value = value
    self.sourceID = sourceID
  }

  init(_ row: ViewContents.Row) {
    self.init(key: row.key, value: row.value, sourceID: row.id)
  }

  /// The ID of the document that the row links to.
  ///
  /// It is the property `_id` of the row's value, or else the ID of the document it was emitted
  /// for.
  public var documentID: String? { sourceID == nil ? nil : value["_id"]?.stringValue ?? sourceID }
}

/// The answer to a query of a view: rows in their order, as of one snapshot.
///
/// ```swift
/// let rows = try database.rows(of: byActor, .key("Brigitte Helm"))
/// for row in rows { print(row.value.stringValue ?? "") }
/// let films = try rows.documents()
/// ```
///
/// It retains its rows, which never change whatever is written later, and its snapshot.
public struct ViewRows: Sendable {
  /// The snapshot whose documents were mapped.
  public let snapshot: Snapshot
  let content: Content

  enum Content {
    case rows([ViewContents.Row])
    case reduced([ViewRow])
  }

  init(_ rows: [ViewContents.Row], of snapshot: Snapshot) {
    content = .rows(rows)
    self.snapshot = snapshot
  }

  init(reduced rows: [ViewRow], of snapshot: Snapshot) {
    content = .reduced(rows)
    self.snapshot = snapshot
  }
}

extension ViewRows: RandomAccessCollection {
  /// The position of the first row.
  public var startIndex: Int { 0 }

  /// The position after the last row.
  public var endIndex: Int {
    switch content {
    case .rows(let rows): rows.count
    case .reduced(let rows): rows.count
    }
  }

  /// The row at a position.
  public subscript(position: Int) -> ViewRow {
    switch content {
    case .rows(let rows): ViewRow(rows[position])
    case .reduced(let rows): rows[position]
    }
  }
}

extension ViewRows {
  /// The value that all rows were reduced to; nil if they were not, or if there were none.
  public var value: Value? {
    guard case .reduced(let rows) = content, rows.count == 1 else { return nil }
    return rows[0].value
  }

  /// Returns the document that a row links to, in the snapshot of these rows; nil if there is none.
  ///
  /// - Throws: The errors of ``Snapshot/document(_:)``.
  public func document(of row: ViewRow) throws -> Document? {
    try row.documentID.flatMap { try snapshot.document($0) }
  }

  /// Returns the documents that the rows link to, in the order of the rows; nil for a missing one.
  ///
  /// They are read in the order of their locations in the log, which is faster than one by one.
  ///
  /// - Throws: The errors of ``Snapshot/documents(_:)``.
  public func documents() throws -> [Document?] {
    try snapshot.documents(map { $0.documentID ?? "" })
  }
}
