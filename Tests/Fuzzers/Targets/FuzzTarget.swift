/// A reader of bytes from outside that a fuzzer feeds: the same function for the fuzzer, which
/// looks for inputs that it does not survive, and for the test that tries those found before.
package enum FuzzTarget: String, CaseIterable, Sendable {
  /// A segment's file, read by each step by itself and by opening a store that has nothing else.
  case segment
  /// A checkpoint's file, in a store whose segments are sound.
  case checkpoint
  /// `HEAD`, the headers of segments and checkpoints, and the names of files.
  case head
  /// Records, and the documents and values in them.
  case record
  /// The record of an attachment, and the file that it describes.
  case attachment
  /// The text of JSON.
  case json
  /// Pages of the index.
  case page
  /// The file of a view, in a store whose other files are sound.
  case view
  /// All files of a store at once.
  case store
}

/// Something that must not be, whatever the input.
package struct FuzzFinding: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}

/// Throws a finding unless `condition` holds.
func expect(_ condition: Bool, _ what: @autoclosure () -> String) throws {
  guard condition else { throw FuzzFinding(what()) }
}

extension FuzzTarget {
  /// Reads an input; throws a ``FuzzFinding`` if what came of it must not be, and traps, hangs or
  /// takes too much memory if the reader does.
  ///
  /// Not everything is done with every input, since a fuzzer should try many, unless `isThorough`.
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
    }
  }

  /// No input is longer, in bytes.
  package var sizeLimit: Int {
    switch self {
    case .attachment: 1 << 10
    case .head, .json, .record: 8 << 10
    case .page: 32 << 10
    case .segment, .checkpoint, .view: 64 << 10
    case .store: 96 << 10
    }
  }
}
