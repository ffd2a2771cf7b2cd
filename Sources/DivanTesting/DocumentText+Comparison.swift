import Divan

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Whether a comparison with a file writes the file instead.
///
/// ```swift
/// try DocumentText(of: database).requireEqual(toFile: path, recording: .ifMissing)
/// ```
public enum TextRecording: Sendable, Hashable {
  /// The file is only read: for tests as they are committed.
  case never
  /// The file is written if it does not exist.
  case ifMissing
  /// The file is written if it does not exist, or is different.
  case always
}

/// A text of documents is not the expected one, or was recorded.
///
/// ```swift
/// let failure = #expect(throws: DocumentTextFailure.self) {
///   try DocumentText(of: database).requireEqual(toFile: path)
/// }
/// #expect(failure == .missing(file: path))
/// ```
public enum DocumentTextFailure: Error, Hashable, CustomStringConvertible {
  /// The texts are different; the file has the expected one, if there is a file.
  case differs(LineDifference, file: String?)
  /// There is no file with the expected text.
  case missing(file: String)
  /// The file was written. A test that records fails, so that it cannot be mistaken for a check.
  case recorded(file: String)

  /// What happened, with the difference, and what to do.
  public var description: String {
    switch self {
    case .differs(let difference, nil): "the documents are not the expected ones:\n\(difference)"
    case .differs(let difference, let file?):
      "the documents are not those of \(file). If they are right now, record them once with "
        + "`recording: .always`:\n\(difference)"
    case .missing(let file):
      "there is no expected text at \(file). Record it once with `recording: .ifMissing`, and read "
        + "it"
    case .recorded(let file):
      "the text was recorded at \(file). Read it, and remove `recording` from the test"
    }
  }
}

extension DocumentText {
  /// Returns the lines that are different from those of an expected text; nil if there are none.
  public func difference(from expected: DocumentText) -> LineDifference? {
    LineDifference(from: expected.text, to: text)
  }

  /// Checks that the text is an expected one.
  ///
  /// ```swift
  /// try DocumentText(of: database).requireEqual(
  ///   to: """
  ///     elbe
  ///       title: "Along the Elbe"
  ///     """)
  /// ```
  ///
  /// - Throws: ``DocumentTextFailure/differs(_:file:)``.
  public func requireEqual(to expected: DocumentText) throws {
    if let difference = difference(from: expected) {
      throw DocumentTextFailure.differs(difference, file: nil)
    }
  }

  /// Checks that the text is the one in a file.
  ///
  /// ```swift
  /// try DocumentText(of: database).requireEqual(toFile: "Expected/trips.txt")
  /// ```
  ///
  /// To make the file, pass `recording: .ifMissing` once, and to accept other documents
  /// `recording: .always`. In both cases the call throws after it has written the file.
  ///
  /// - Parameters:
  ///   - path: The file's path, from the folder of the test's source file on, or an absolute path.
  ///   - recording: Whether the file is written.
  ///   - source: The test's source file.
  /// - Throws: ``DocumentTextFailure``; errors of reading and writing the file.
  public func requireEqual(
    toFile path: String, recording: TextRecording = .never, source: String = #filePath
  ) throws {
    let folder = source.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    let file = path.hasPrefix("/") ? path : (folder + [path[...]]).joined(separator: "/")
    guard FileManager.default.fileExists(atPath: file) else {
      guard recording != .never else { throw DocumentTextFailure.missing(file: file) }
      return try record(file)
    }
    // A checkout may have converted the ends of lines.
    let stored = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
      .split(separator: "\r\n", omittingEmptySubsequences: false).joined(separator: "\n")
    guard let difference = difference(from: DocumentText(stringLiteral: stored)) else { return }
    guard recording == .always else {
      throw DocumentTextFailure.differs(difference, file: file)
    }
    try record(file)
  }

  private func record(_ file: String) throws {
    let url = URL(filePath: file)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data((text + "\n").utf8).write(to: url, options: .atomic)
    throw DocumentTextFailure.recorded(file: file)
  }
}
