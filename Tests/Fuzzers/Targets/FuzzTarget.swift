/// A reader of external bytes that a fuzzer tests.
///
/// The fuzzer, which searches for inputs that make it fail, and the test of inputs that were found
/// before use the same function.
package enum FuzzTarget: String, CaseIterable, Sendable {
  /// A segment's file, read in separate steps and by opening a store that has nothing else.
  case segment
  /// A checkpoint's file, in a store with valid segments.
  case checkpoint
  /// `HEAD`, the headers of segments and checkpoints, and the names of files.
  case head
  /// Records, and the documents and values in them.
  case record
  /// The record of an attachment, and the file that it describes.
  case attachment
  /// JSON text.
  case json
  /// Pages of the index.
  case page
  /// The file of a view, in a store whose other files are valid.
  case view
  /// All files of a store at once.
  case store
  /// Bodies with several parts, as requests and answers of a replication have them.
  case multipart
  /// Answers of a server in CouchDB's protocol.
  case answers
  /// Requests to a service of CouchDB's protocol.
  case requests
  /// A query for text, and the text of a document.
  case query
}

/// A result that must not occur, whatever the input.
package struct FuzzFinding: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}

/// Throws a finding unless `condition` is true.
func expect(_ condition: Bool, _ what: @autoclosure () -> String) throws {
  guard condition else { throw FuzzFinding(what()) }
}

extension FuzzTarget {
  /// Reads an input; throws a ``FuzzFinding`` if the result is wrong.
  ///
  /// It traps, hangs or takes too much memory if the reader does. Not every step runs for every
  /// input, because a fuzzer should try many, unless `isThorough`.
  package func run(_ input: [UInt8], isThorough: Bool = false) throws {
    switch self {
    case .json: try FuzzValues.readJSON(input)
    case .record: try FuzzValues.readRecords(input)
    case .attachment: try FuzzAttachments.read(input)
    case .page: try FuzzPages.read(input)
    case .head: try FuzzHeaders.read(input)
    case .segment: try FuzzStores.readSegment(input, isThorough: isThorough)
    case .checkpoint: try FuzzStores.readCheckpoint(input, isThorough: isThorough)
    case .view: try FuzzViews.read(input, isThorough: isThorough)
    case .store: try FuzzStores.readStore(input, isThorough: isThorough)
    case .multipart: try FuzzMultipart.read(input)
    case .answers: try FuzzAnswers.read(input)
    case .requests: try FuzzRequests.read(input, isThorough: isThorough)
    case .query: try FuzzQueries.read(input)
    }
  }

  /// The maximum number of bytes of an input.
  package var sizeLimit: Int {
    switch self {
    case .attachment: 1 << 10
    case .query: 2 << 10
    case .head, .json, .record, .answers, .requests: 8 << 10
    case .page, .multipart: 32 << 10
    case .segment, .checkpoint, .view: 64 << 10
    case .store: 96 << 10
    }
  }
}
