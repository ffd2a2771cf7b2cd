package import DivanLog

/// A view's file that is open for reading. FILE_FORMAT.md §19
///
/// It contains derived data, and is found by the view's name. Nothing is lost without it, so a file
/// with any defect is ignored, and the rows are rebuilt.
struct ViewFile {
  let view: ViewIdentity
  private var reader: ViewFileReader

  /// Opens a file, and reads the identity of its view.
  init(_ name: FileName, in directory: StoreDirectory) throws(LogError) {
    var reader = try ViewFileReader(name, in: directory)
    guard let bytes = try reader.next() else { throw reader.damage("there are no frames") }
    do throws(ByteError) {
      view = try ViewIdentity(decoding: bytes)
    } catch {
      throw reader.damage(error.reason)
    }
    guard name == directory.fileName(ofView: view.name) else {
      throw reader.damage("the file belongs to a view of another name")
    }
    self.reader = reader
  }

  var header: ViewFileHeader { reader.header }

  /// Reads all rows, and checks that they are in order.
  consuming func contents(isCancelled: () -> Bool) throws(LogError) -> ViewContents {
    // The row count is trusted only after they were read: there may not be enough memory for it.
    var positioned: [PositionedRow] = []
    let rowCount = Int(header.rowCount)
    var documents: [ViewContents.DocumentRows] = []
    while let frame = try reader.next() {
      guard !isCancelled() else {
        throw .system(SystemError(call: "read", path: reader.path, code: .cancelled))
      }
      var bytes = ByteReader(frame)
      do throws(ByteError) {
        while !bytes.isAtEnd {
          let document = try ViewFile.readDocument(&bytes, rowCount, &positioned)
          if let last = documents.last, compareUTF8(last.id, document.id) >= 0 {
            throw ByteError(offset: bytes.offset, reason: "documents out of order")
          }
          documents.append(document)
        }
      } catch {
        throw reader.damage(error.reason)
      }
    }
    guard positioned.count == rowCount else {
      throw reader.damage(
        "\(positioned.count) rows instead of \(rowCount), the count in the header")
    }
    var slots = [ViewContents.Row?](repeating: nil, count: rowCount)
    for (position, row) in positioned {
      guard slots[position] == nil else { throw reader.damage("two rows at one position") }
      slots[position] = row
    }
    var rows: [ViewContents.Row] = []
    rows.reserveCapacity(rowCount)
    for row in slots {
      guard let row else { throw reader.damage("a row is missing") }
      if let last = rows.last, last.compare(row) >= 0 {
        throw reader.damage("rows out of order")
      }
      rows.append(row)
    }
    return ViewContents(header.origin, rows: rows, documents: documents)
  }

  /// A row, and its position among all rows.
  private typealias PositionedRow = (position: Int, row: ViewContents.Row)

  /// Reads the rows of one document; `rowCount` is the number of rows in the file.
  private static func readDocument(
    _ bytes: inout ByteReader, _ rowCount: Int, _ positioned: inout [PositionedRow]
  ) throws(ByteError) -> ViewContents.DocumentRows {
    let id = try bytes.readPrefixedText()
    let count = try bytes.readCount(limit: rowCount)
    guard count > 0 else {
      throw ByteError(offset: bytes.offset, reason: "a document without rows")
    }
    var rows: [ViewContents.Row] = []
    for index in 0..<count {
      let position = try bytes.readCount(limit: rowCount - 1)
      let (key, sortKey) = try readKey(&bytes)
      let value = try readValue(&bytes).decoded
      let row = ViewContents.Row(
        sortKey: sortKey, id: id, index: index, key: key, value: value)
      positioned.append((position, row))
      rows.append(row)
    }
    return ViewContents.DocumentRows(id: id, rows: rows)
  }

  private static func readKey(
    _ bytes: inout ByteReader
  ) throws(ByteError) -> (key: Value, sortKey: [UInt8]) {
    let (stored, key) = try readValue(&bytes)
    do throws(DatabaseError) {
      return (key, try Collation.key(of: stored))
    } catch {
      throw ByteError(offset: bytes.offset, reason: "bytes that are not a key")
    }
  }

  private static func readValue(
    _ bytes: inout ByteReader
  ) throws(ByteError) -> (stored: EncodedValue, decoded: Value) {
    let stored = EncodedValue(try bytes.readPrefixedBytes())
    do throws(DatabaseError) {
      return (stored, try stored.decode())
    } catch {
      throw ByteError(offset: bytes.offset, reason: "bytes that are not a value")
    }
  }
}

extension ViewContents {
  /// A frame is written when it has at least this many bytes.
  private static let frameSizeGoal = 1 << 16
  /// The maximum size of a frame: if the rows of one document exceed it, no file is written.
  private static let frameSizeLimit = 24 << 20

  /// Writes these contents to the view's file, once their version is durable.
  ///
  /// Otherwise, after a crash, other documents could get the numbers by which the file identifies
  /// that version.
  func save(_ view: ViewIdentity, in store: Store) throws(DatabaseError) {
    guard let origin else { return }
    try store.commits.waitUntilDurable(origin.commit)
    let preamble = FilePreamble(
      kind: .view, storeID: store.storeID, salt: store.configuration.random(),
      createdAt: store.configuration.now(), keyID: store.directory.keyID)
    try translating { () throws(LogError) in
      let name = store.directory.fileName(ofView: view.name)
      let file = try store.directory.install(name) { (file) throws(LogError) in
        let encryption = try store.directory.encryption(preamble, path: file.path)
        var writer = ViewFileWriter(
          file, preamble: preamble, origin: origin, encryptedBy: encryption)
        try write(view, to: &writer, file.path)
      }
      try attempt { () throws(SystemError) in try file.close() }
    }
  }

  private func write(
    _ view: ViewIdentity, to writer: inout ViewFileWriter, _ path: String
  ) throws(LogError) {
    var frame = ByteWriter(capacity: 2 * ViewContents.frameSizeGoal)
    view.encode(to: &frame)
    try writer.append(frame)
    frame.removeAll()
    let positions = positions()
    var scratch = ByteWriter()
    var encoder = ValueEncoder()
    for document in documents.chunks.joined() {
      frame.appendPrefixed(document.id)
      frame.appendVarint(document.rows.count)
      for row in document.rows {
        frame.appendVarint(positions[ObjectIdentifier(row)] ?? 0)
        for value in [row.key, row.value] {
          scratch.removeAll()
          do throws(DatabaseError) {
            try encoder.encode(value, into: &scratch)
          } catch {
            throw ViewContents.tooLarge(path)
          }
          frame.appendVarint(scratch.count)
          scratch.withSpan { frame.append($0) }
        }
        guard frame.count <= ViewContents.frameSizeLimit else { throw ViewContents.tooLarge(path) }
      }
      guard frame.count >= ViewContents.frameSizeGoal else { continue }
      try writer.append(frame)
      frame.removeAll()
    }
    if frame.count > 0 { try writer.append(frame) }
    try writer.finish(collation: UInt64(Collation.version), rowCount: UInt64(rows.count))
  }

  /// Returns the position of each row among all rows.
  private func positions() -> [ObjectIdentifier: Int] {
    var positions: [ObjectIdentifier: Int] = [:]
    positions.reserveCapacity(rows.count)
    for row in rows.chunks.joined() { positions[ObjectIdentifier(row)] = positions.count }
    return positions
  }

  private static func tooLarge(_ path: String) -> LogError {
    .system(SystemError(call: "write", path: path, code: .fileTooLarge))
  }
}

/// A view's file, for inspection by tools.
package struct InspectedView: Sendable {
  package let header: ViewFileHeader
  package let name: String
  package let version: String
  package let documentType: String?
  private let fileName: FileName
  private let directory: StoreDirectory

  /// Reads the identity of a file's view, and the version of the store whose rows it has.
  package init(_ fileName: FileName, in directory: StoreDirectory) throws(LogError) {
    let file = try ViewFile(fileName, in: directory)
    header = file.header
    (name, version, documentType) = (file.view.name, file.view.version, file.view.documentType)
    self.fileName = fileName
    self.directory = directory
  }

  /// Whether the rows are in the collation order of this build.
  package var isOfThisOrder: Bool { header.collation == UInt64(Collation.version) }

  /// Reads all rows, and throws if any are damaged; returns the number of their documents.
  ///
  /// Whether they are what the map function emits for these documents can only be checked by
  /// calling it.
  package func check() throws(LogError) -> Int {
    let contents = try ViewFile(fileName, in: directory).contents { false }
    return contents.documents.count
  }
}
