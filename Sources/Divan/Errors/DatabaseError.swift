internal import DivanLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The error that Divan throws: a code, a message, a location and a hint.
///
/// ```swift
/// do {
///   try database.write { try $0.put(note) }
/// } catch let error as DatabaseError where error.code == .conflict {
///   print(error.message, error.documentID ?? "")
/// }
/// ```
///
/// Its texts are safe to print on one line of a log or a terminal: control characters, line ends
/// and direction marks in IDs and names are escaped (`\u{1b}`). ``documentID``, ``propertyPath``
/// and ``path`` are not escaped.
///
/// Every error that Divan itself throws is one of these. Catch by code:
/// `catch let error as DatabaseError where error.code == .conflict`. New codes may come with new
/// versions, so always keep a branch for the rest.
public struct DatabaseError: Error, Sendable {
  /// The kind of failure.
  public let code: Code
  /// The failure in a sentence or less, without users' data.
  public let message: String
  /// A way to resolve the failure, if one is known.
  public var hint: String?
  /// The ID of the affected document; nil if there is none.
  public var documentID: String?
  /// The path to the affected property in the document, such as `cast[3].height`; nil if there is
  /// none.
  public var propertyPath: String?
  /// The path of the affected file or directory; nil if there is none.
  public var path: String?
  /// The offset of the failure in the file at ``path``, or in a JSON text, in bytes.
  public var offset: Int?
  /// The number of the affected line of an imported text, counted from 1.
  public var line: Int?
  /// The position in that ``line``, in bytes, counted from 1.
  public var column: Int?
  /// The report of an import that failed.
  public var importReport: ImportReport?
  /// The reason that a validation gave, if the code is ``Code/validationFailed``.
  public var validationFailure: ValidationFailure?
  /// The error that caused this one.
  public var underlying: (any Error)?

  /// Creates an error.
  public init(
    _ code: Code, _ message: String, hint: String? = nil, documentID: String? = nil,
    path: String? = nil, offset: Int? = nil, underlying: (any Error)? = nil,
    propertyPath: String? = nil
  ) {
    self.code = code
    self.message = printable(message)
    self.hint = hint.map { printable($0) }
    self.documentID = documentID
    self.path = path
    self.offset = offset
    self.underlying = underlying
    self.propertyPath = propertyPath
  }

  /// A kind of failure.
  ///
  /// ```swift
  /// do {
  ///   try database.write { try $0.put(note) }
  /// } catch DatabaseError.Code.conflict {
  ///   try database.write { try $0.put(note, onConflict: .overwrite) }
  /// }
  /// ```
  ///
  /// It is not an enumeration, because new codes must not break programs.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The code's name, as in the source.
    public let description: String
    /// The code's number, which never changes: the code of the `NSError` that Apple's systems make.
    public let number: Int

    init(_ name: String, _ number: Int) { (description, self.number) = (name, number) }

    /// Returns whether an error is a ``DatabaseError`` with a code, for `catch` and `case`.
    ///
    /// ```swift
    /// do { try film.save() } catch DatabaseError.Code.conflict { … }
    /// ```
    public static func ~= (code: Code, error: any Error) -> Bool {
      (error as? DatabaseError)?.code == code
    }
  }
}

extension DatabaseError.Code {
  // Invalid or failed requests.

  /// The document has changed since it was read.
  public static let conflict = Self("conflict", 101)
  /// There is no such document, store or file.
  public static let notFound = Self("notFound", 102)
  /// The path of a new store or backup is taken, or the name of a new index, snapshot or document.
  public static let alreadyExists = Self("alreadyExists", 103)
  /// The document ID is empty, too long, or begins with an underscore and not with `_design/`.
  public static let invalidDocumentID = Self("invalidDocumentID", 104)
  /// The text is not a revision ID.
  public static let invalidRevisionID = Self("invalidRevisionID", 105)
  /// The name of a snapshot is empty or too long.
  public static let invalidSnapshotName = Self("invalidSnapshotName", 106)
  /// The requested past version is not retained, or not as a whole.
  public static let versionNotRetained = Self("versionNotRetained", 107)
  /// A value cannot be stored: not a number, infinite, a reserved property name.
  public static let invalidValue = Self("invalidValue", 108)
  /// An attachment has an invalid name or content type, or a document has too many.
  public static let invalidAttachment = Self("invalidAttachment", 109)
  /// The document does not match the type that it is read as.
  public static let mismatchedType = Self("mismatchedType", 110)
  /// The text is not JSON, or is JSON that cannot be stored without loss.
  public static let invalidJSON = Self("invalidJSON", 111)
  /// A document is nested too deeply, or is too large.
  public static let documentTooLarge = Self("documentTooLarge", 112)
  /// The transaction exceeds the size limit of transactions.
  public static let transactionTooLarge = Self("transactionTooLarge", 113)
  /// `write` was called inside `write`.
  public static let nestedWrite = Self("nestedWrite", 114)
  /// The writer lock did not become free within the allowed time.
  public static let timedOut = Self("timedOut", 115)
  /// The caller cancelled the work, and nothing was changed.
  public static let cancelled = Self("cancelled", 116)
  /// The database was closed, or the snapshot or transaction has ended.
  public static let closed = Self("closed", 117)
  /// The database is suspended: `Database.resume()` must come first.
  public static let suspended = Self("suspended", 118)

  /// A validation rejected a revision: ``DatabaseError/validationFailure``.
  public static let validationFailed = Self("validationFailed", 119)
  /// Two documents have the same values in a unique index.
  public static let notUnique = Self("notUnique", 120)
  /// A new index has an invalid name, properties or conditions.
  public static let invalidIndex = Self("invalidIndex", 121)
  /// A function of a view failed, or emitted a value that cannot be stored.
  ///
  /// The cause is ``DatabaseError/underlying``.
  public static let viewFailed = Self("viewFailed", 122)
  /// The query cannot be answered.
  public static let invalidQuery = Self("invalidQuery", 123)
  /// The position in the change feed is of another store.
  public static let feedPositionMismatch = Self("feedPositionMismatch", 124)

  // Failures of the machine, and other programs.

  /// The store is already open for writing, in this process or another.
  public static let storeInUse = Self("storeInUse", 201)
  /// The system denies access.
  public static let accessDenied = Self("accessDenied", 202)
  /// The store or its medium is read-only.
  public static let readOnly = Self("readOnly", 203)
  /// No space is left; nothing was committed, and you can write again once there is space.
  public static let diskFull = Self("diskFull", 204)
  /// Too many files are open.
  public static let resourceExhausted = Self("resourceExhausted", 205)
  /// The system failed to read or write; nothing was committed.
  public static let inputOutput = Self("inputOutput", 206)
  /// The system failed to flush: whether the commit is durable is unknown until the store is
  /// reopened.
  public static let outcomeUnknown = Self("outcomeUnknown", 207)
  /// The writer stopped after an earlier failure; reading continues.
  ///
  /// Reopen the store to write.
  public static let writerStopped = Self("writerStopped", 208)

  // Contents of files.

  /// Bytes of a file changed since they were written.
  public static let damaged = Self("damaged", 301)
  /// The directory or file is not a Divan store.
  public static let notAStore = Self("notAStore", 302)
  /// A newer version of Divan wrote this.
  public static let newerFormat = Self("newerFormat", 303)
  /// The store is encrypted with a key that was not given, or is not encrypted although one was.
  package static let missingKey = Self("missingKey", 304)
}

extension DatabaseError: CustomStringConvertible {
  /// The code, the message, the location and the hint.
  public var description: String {
    printable("\(code): \(messageAndLocation)\(hint.map { ". \($0)" } ?? "")")
  }

  private var messageAndLocation: String {
    var text = message
    if let documentID { text += "; document \(documentID)" }
    if let path { text += "; \(path)" }
    if let line { text += "; line \(line)" }
    if let column { text += ", column \(column)" }
    if let offset { text += " at byte \(offset)" }
    // Some messages end with the cause.
    if let cause = underlying.map({ "\($0)" }), !message.hasSuffix(": " + cause) {
      text += "; cause: \(cause)"
    }
    return text
  }
}

extension DatabaseError: LocalizedError {
  /// The message and the location, in English; `localizedDescription` returns it.
  public var errorDescription: String? {
    let text = printable(messageAndLocation)
    return text.prefix(1).uppercased() + text.dropFirst()
  }

  /// The message, or the reason that a validation gave.
  public var failureReason: String? { validationFailure?.errorDescription ?? message }

  /// ``hint``.
  public var recoverySuggestion: String? { hint.map { printable($0) } }
}
