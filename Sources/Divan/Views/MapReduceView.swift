import DivanLog

/// Documents arranged by keys that a function of yours finds in them: a *map* from each document to rows, in the
/// order of the rows' keys, and perhaps a *reduction* of many rows to one value.
///
/// ```swift
/// let byYear = MapReduceView("films by year", version: "1", reduction: .count) { film, emit in
///   emit(film["year"], film["title"])
/// }
/// let twenties = try database.rows(of: byYear, .from(1920, upTo: 1930).unreduced())
/// let perYear = try database.rows(of: byYear, .all.grouped())
/// ```
///
/// A view has a row for everything that its map function emits, and nothing else: rows are those that mapping every
/// document of the snapshot anew would give. Of a document that was changed since the view was asked last, the rows
/// are made again, of one that was deleted they are gone, and all others stay. Deleted documents are not mapped; of
/// one with conflicts its winning revision is, which ``MappedDocument/conflicts`` says.
///
/// The rows are made when they are first asked for, which costs one call of the map function for each document, and
/// kept in memory while the database is open. From time to time and by ``Database/close(discardsUnsavedModels:isolation:)`` they are also written to a
/// file in the store's directory, if that is worth it, so that the next opening reads them instead. They are found
/// there by the view's name, and believed if its version and document type are the same: so a map function is to give
/// the same rows for the same document whenever and by whichever program it is called; when it is changed, so must be
/// its version.
///
/// Names and versions are the same if their UTF-8 bytes are. A map function may read, but neither ask for rows nor
/// write to a database, close one, clean one by ``Database/compact()`` or copy one by
/// ``Database/backup(to:keepingHistory:progress:)``, which somebody might wait for who waits for its rows: that throws
/// ``DatabaseError/Code/viewFailed``. From another task or thread it cannot be told from what others do, and may wait
/// for ever.
public struct MapReduceView: Sendable {
  /// Finds the rows of a document; on any thread, and on several at once.
  public typealias Map =
    @Sendable (_ document: MappedDocument, _ emit: inout Emitter) throws -> Void

  /// What the view is called; one name is for one view in a database.
  public let name: String
  /// Which map function this is: what was kept of another version is made anew.
  public let version: String
  /// What rows are reduced to, unless a query says otherwise.
  public let reduction: ViewReduction?
  /// The value of the property `type` that documents must have to be mapped; all are if nil.
  public let documentType: String?
  let map: Map

  /// Describes a view, which costs nothing: its rows are made by the first query.
  ///
  /// - Parameters:
  ///   - name: what it is called.
  ///   - version: which map function this is, whatever the text.
  ///   - documentType: the value of the property `type` that documents must have to be mapped; all are if nil.
  ///   - reduction: what rows are reduced to, unless a query says otherwise.
  ///   - map: called with each document, to emit its rows. What it throws makes the query fail, with
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

/// A document as a map function sees it.
public struct MappedDocument: Sendable {
  /// The winning revision.
  public let document: Document
  /// The revisions that the document is said to have besides, the best first: none unless there is a conflict.
  public let conflicts: [Document]

  /// The document's ID.
  public var id: String { document.id }
  /// The winning revision's ID.
  public var revision: RevisionID? { document.revision }
  /// All properties; see ``Document/properties``.
  public var properties: Value.Object { document.properties }

  /// The property of this name; nil if there is none.
  ///
  /// Decodes this property only.
  public subscript(name: String) -> Value? { document[name] }
}

/// What a map function calls to make a row: `emit(key, value)`.
public struct Emitter {
  private(set) var rows: [(key: Value, sortKey: [UInt8], value: Value)] = []
  /// The first thing that was emitted and cannot be.
  private(set) var failure: DatabaseError?

  init() {}

  /// Makes a row; several may have the same key.
  ///
  /// - Parameters:
  ///   - key: where the row stands among others, in the order of ``Collation``. There is no row without one: `.null`
  ///     is a key, and nil is none.
  ///   - value: what the row says besides; `.null` if nil. An object with the property `_id` links the row to the
  ///     document of that ID. Neither may hold a number that is not finite, or nest deeper than a document.
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
  /// Throws if this is no value that could stand in a document.
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
  /// The rows of a document that has changed: none of one that is deleted.
  func rows(of change: Change, in snapshot: Snapshot) throws -> [ViewContents.Row] {
    guard !change.isDeleted else { return [] }
    let document = change.document
    if let documentType {
      guard let type = document["type"]?.stringValue, haveSameUTF8(type, documentType) else {
        return []
      }
    }
    let conflicts =
      change.hasConflicts ? Array(try snapshot.conflicts(of: document.id).dropFirst()) : []
    var emitter = Emitter()
    let mapped = MappedDocument(document: document, conflicts: conflicts)
    do {
      try RunningMap.view.withValue(name) { try map(mapped, &emitter) }
      if let failure = emitter.failure { throw failure }
    } catch {
      throw DatabaseError(
        .viewFailed, "the map function of the view \"\(name)\" failed for a document",
        hint: "Mend the function, and give the view another version", documentID: document.id,
        underlying: error)
    }
    // One text for all rows: of a document that was read, each is made.
    let id = emitter.rows.isEmpty ? "" : document.id
    return emitter.rows.enumerated().map { index, row in
      ViewContents.Row(
        sortKey: row.sortKey, id: id, index: index, key: row.key, value: row.value)
    }
  }
}
