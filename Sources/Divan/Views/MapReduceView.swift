import DivanLog

/// A view: rows that your map function computes from documents, in key order.
///
/// The *map* turns each document into rows, ordered by their keys. An optional *reduction* combines
/// many rows into one value.
///
/// ```swift
/// let byYear = MapReduceView("films by year", version: "1", reduction: .count) { film, emit in
///   emit(film["year"], film["title"])
/// }
/// let twenties = try database.rows(of: byYear, .keys(in: 1920..<1930).unreduced())
/// let perYear = try database.rows(of: byYear, .all.grouped())
/// ```
///
/// A view has exactly the rows that mapping every document of the snapshot would emit. If a
/// document was changed since the last query, its rows are computed again; if it was deleted, they
/// are removed; all others stay. Deleted documents are not mapped. For a document with conflicts,
/// the winning revision is mapped, and ``MappedDocument/conflicts`` contains the others.
///
/// The rows are computed by the first query, with one call of the map function for each document,
/// and kept in memory while the database is open. From time to time and by
/// ``Database/close(discardsUnsavedModels:isolation:)-b22j`` they are also written to a file in the
/// store's directory, if that is worthwhile, and the next opening can read them. They are found
/// by the view's name, and trusted if its version and document type are the same. So a map function
/// must give the same rows for the same document at any time and in any program; when you change
/// it, change its version.
///
/// Names and versions are equal if their UTF-8 bytes are. A map function may read the database. It
/// must not query rows, write to a database, close one, clean one with ``Database/compact()-npg5``
/// or copy one with ``Database/backup(to:keepingHistory:progress:)-9sfq6``: these could wait for a
/// thread that waits for its rows. Such calls throw ``DatabaseError/Code/viewFailed``. From another
/// task or thread they cannot be recognized, and may deadlock.
public struct MapReduceView: Sendable {
  /// A function that emits the rows of a document; it may run on several threads at once.
  public typealias Map =
    @Sendable (_ document: MappedDocument, _ emit: inout Emitter) throws -> Void

  /// The name of the view, unique within a database.
  public let name: String
  /// The version of the map function; rows kept for another version are rebuilt.
  public let version: String
  /// The default reduction of the rows.
  public let reduction: ViewReduction?
  /// The required value of the property `type` for documents to be mapped; nil to map all.
  public let documentType: String?
  let map: Map

  /// Creates the definition of a view, at no cost: the first query computes its rows.
  ///
  /// - Parameters:
  ///   - name: The name of the view.
  ///   - version: The version of the map function, any string.
  ///   - documentType: The required value of the property `type` for documents to be mapped; nil to
  ///     map all.
  ///   - reduction: The default reduction of the rows.
  ///   - map: Called with each document, to emit its rows. If it throws, the query fails with
  ///     ``DatabaseError/Code/viewFailed``.
  public init(
    _ name: String, version: String, documentType: String? = nil,
    reduction: ViewReduction? = nil, map: @escaping Map
  ) {
    self.name = name
    self.version = version
    self.documentType = documentType
    self.reduction = reduction
    self.map = map
  }
}

/// A document as a map function receives it.
///
/// ```swift
/// let conflicts = MapReduceView("conflicts", version: "1") { document, emit in
///   if !document.conflicts.isEmpty { emit(.string(document.id), document["title"]) }
/// }
/// ```
public struct MappedDocument: Sendable {
  /// The winning revision.
  public let document: Document
  /// The other live revisions of the document, the best first; empty unless there is a conflict.
  public let conflicts: [Document]

  /// The document's ID.
  public var id: String { document.id }
  /// The winning revision's ID.
  public var revision: RevisionID? { document.revision }
  /// All properties; see ``Document/properties``.
  public var properties: Value.Object { document.properties }

  /// The property with this name; nil if there is none.
  ///
  /// Decodes this property only.
  public subscript(name: String) -> Value? { document[name] }
}

/// The function that a map function calls to emit a row: `emit(key, value)`.
///
/// ```swift
/// let byActor = MapReduceView("by actor", version: "1") { film, emit in
///   for actor in film["cast"]?.arrayValue ?? [] { emit(actor, film["title"]) }
/// }
/// ```
public struct Emitter {
  private(set) var rows: [(key: Value, sortKey: [UInt8], value: Value)] = []
  /// The error for the first emitted row that is not valid.
  private(set) var failure: DatabaseError?

  init() {}

  /// Emits a row; several may have the same key.
  ///
  /// - Parameters:
  ///   - key: The key, which orders rows according to ``Collation``. A nil key emits no row;
  ///     `.null` is a key.
  ///   - value: The value of the row; `.null` if nil. An object with the property `_id` links the
  ///     row to the document with that ID. Neither may contain a non-finite number or nest deeper
  ///     than a document.
  public mutating func callAsFunction(_ key: Value?, _ value: Value? = nil) {
    guard let key, failure == nil else { return }
    do throws(DatabaseError) {
      try key.requireStorable()
      try value?.requireStorable()
      rows.append((key, Collation.key(of: key), value ?? .null))
    } catch {
      failure = error
    }
  }
}

extension Value {
  /// Throws if this value could not be stored in a document.
  fileprivate func requireStorable() throws(DatabaseError) {
    switch self {
    case .null, .bool, .int, .unsigned: return
    case .double(let number) where number.isFinite: return
    default:
      var nothing = NothingSink()
      try ValueWalk.feed(self, into: &nothing, .stored)
    }
  }
}

extension MapReduceView {
  /// Returns the rows of a changed document; none if it is deleted.
  func rows(of change: Change, in snapshot: Snapshot) throws -> [ViewContents.Row] {
    guard !change.isDeleted else { return [] }
    let document = change.document
    if let documentType {
      guard let type = document["type"]?.stringValue, haveSameUTF8(type, documentType) else {
        return []
      }
    }
    let conflicts =
      change.hasConflicts ? Array(try snapshot.branches(of: document.id).dropFirst()) : []
    var emitter = Emitter()
    let mapped = MappedDocument(document: document, conflicts: conflicts)
    do {
      try MapFunctionGuard.view.withValue(name) { try map(mapped, &emitter) }
      if let failure = emitter.failure { throw failure }
    } catch {
      throw DatabaseError(
        .viewFailed, "the map function of the view \"\(name)\" failed for a document",
        hint: "Correct the function, and change the view's version", documentID: document.id,
        underlying: error)
    }
    // One string for all rows, because each access to the ID of a stored document creates one.
    let id = emitter.rows.isEmpty ? "" : document.id
    return emitter.rows.enumerated().map { index, row in
      ViewContents.Row(
        sortKey: row.sortKey, id: id, index: index, key: row.key, value: row.value)
    }
  }
}
