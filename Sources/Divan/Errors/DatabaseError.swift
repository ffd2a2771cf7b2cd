internal import DivanLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What went wrong, where, and what can be done.
///
/// Its texts are safe to print on one line of a log or a terminal: control characters, line ends
/// and marks of direction in IDs and names are escaped (`\u{1b}`). ``documentID``, ``propertyPath``
/// and ``path`` are as they were given.
///
/// Every error that Divan itself throws is one of these. Catch by code:
/// `catch let error as DatabaseError where error.code == .conflict`. New codes may come with new
/// versions, so always keep a branch for the rest.
public struct DatabaseError: Error, Sendable {
  /// What kind of failure this is.
  public let code: Code
  /// What happened, in a sentence or less, without the data of users.
  public let message: String
  /// What can be done about it, where that is known.
  public var hint: String?
  /// The document concerned, if it is one.
  public var documentID: String?
  /// The way to the property concerned within the document, if it is one: `cast[3].height`.
  public var propertyPath: String?
  /// The file or directory concerned, if it is one.
  public var path: String?
  /// Where in the file at ``path``, in bytes from its beginning.
  public var offset: Int?
  /// The line concerned, from 1 on, of a text that was to be imported.
  public var line: Int?
  /// Where in that ``line``, in bytes from 1 on.
  public var column: Int?
  /// What an import had done when it failed.
  public var importReport: ImportReport?
  /// What a validation says, if the code is ``Code/refused``.
  public var refusal: ValidationRefusal?
  /// The error that caused this one.
  public var underlying: (any Error)?

  /// Makes an error.
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
  /// This is not an enumeration, so that new codes do not break programs.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The code's name, as in the source.
    public let description: String

    init(_ name: String) { description = name }
  }
}

extension DatabaseError.Code {
  // Requests of callers.

  /// The document was changed elsewhere since it was read.
  public static let conflict = Self("conflict")
  /// There is no such document, store or file.
  public static let notFound = Self("notFound")
  /// The place for a new store or backup is taken.
  public static let alreadyExists = Self("alreadyExists")
  /// The document ID is empty, too long, or begins with an underscore and not with `_design/`.
  public static let invalidDocumentID = Self("invalidDocumentID")
  /// The text is no revision ID.
  public static let invalidRevisionID = Self("invalidRevisionID")
  /// The name of a snapshot is empty or too long.
  public static let invalidSnapshotName = Self("invalidSnapshotName")
  /// The version of the database that was asked for is not kept, or not as a whole.
  public static let historyNotHeld = Self("historyNotHeld")
  /// A value cannot be stored: not a number, infinite, a reserved property name.
  public static let invalidValue = Self("invalidValue")
  /// An attachment has a name or a content type that it cannot have, or a document has too many.
  public static let invalidAttachment = Self("invalidAttachment")
  /// The document does not fit the type as which it was to be read.
  public static let mismatchedType = Self("mismatchedType")
  /// The text is not JSON, or is JSON that could not be kept without loss.
  public static let invalidJSON = Self("invalidJSON")
  /// A document is nested too deeply, or is too large.
  public static let documentTooLarge = Self("documentTooLarge")
  /// The transaction holds more than one transaction may.
  public static let transactionTooLarge = Self("transactionTooLarge")
  /// `write` was called inside `write`.
  public static let nestedWrite = Self("nestedWrite")
  /// The writer lock was not free within the time that was allowed.
  public static let timedOut = Self("timedOut")
  /// The caller cancelled the work, and nothing was changed.
  public static let cancelled = Self("cancelled")
  /// The database, or what was taken from it, was closed or is over.
  public static let closed = Self("closed")

  /// A validation did not let a revision be stored: ``DatabaseError/refusal``.
  public static let refused = Self("refused")
  /// Two documents have the same values in a unique index.
  public static let notUnique = Self("notUnique")
  /// An index that was to be made has a name, properties or conditions that it cannot have.
  public static let invalidIndex = Self("invalidIndex")
  /// A function of a view failed, or made what cannot be stored; ``DatabaseError/underlying`` says
  /// how.
  public static let viewFailed = Self("viewFailed")
  /// A query asks for what cannot be answered.
  public static let invalidQuery = Self("invalidQuery")
  /// The position in the changes is one in another store.
  public static let foreignPosition = Self("foreignPosition")

  // Failures of the machine, and other programs.

  /// The store is open for writing elsewhere.
  public static let storeInUse = Self("storeInUse")
  /// The system does not allow it.
  public static let accessDenied = Self("accessDenied")
  /// The store, or the medium it is on, can be read only.
  public static let readOnly = Self("readOnly")
  /// No space is left; nothing was committed, and writing may go on once there is space.
  public static let diskFull = Self("diskFull")
  /// Too many files are open.
  public static let resourceExhausted = Self("resourceExhausted")
  /// The system failed to read or write; nothing was committed.
  public static let inputOutput = Self("inputOutput")
  /// The system failed to flush: whether the commit is durable is unknown until the store is
  /// reopened.
  public static let outcomeUnknown = Self("outcomeUnknown")
  /// The writer stopped after an earlier failure; reading goes on.
  ///
  /// Reopen the store to write.
  public static let writerStopped = Self("writerStopped")

  // Contents of files.

  /// Bytes of a file changed since they were written.
  public static let damaged = Self("damaged")
  /// The directory or file is not a Divan store.
  public static let notAStore = Self("notAStore")
  /// A newer version of Divan wrote this.
  public static let newerFormat = Self("newerFormat")
}

extension DatabaseError: CustomStringConvertible {
  /// The code, what happened, where, and what to do.
  public var description: String {
    printable("\(code): \(whatAndWhere)\(hint.map { ". \($0)" } ?? "")")
  }

  private var whatAndWhere: String {
    var text = message
    if let documentID { text += "; document \(documentID)" }
    if let path { text += "; \(path)" }
    if let line { text += "; line \(line)" }
    if let column { text += ", column \(column)" }
    if let offset { text += " at byte \(offset)" }
    if let underlying { text += "; cause: \(underlying)" }
    return text
  }
}

extension DatabaseError: LocalizedError {
  /// What happened, and where; it is what `localizedDescription` says.
  ///
  /// It is in English.
  public var errorDescription: String? {
    let text = printable(whatAndWhere)
    return text.prefix(1).uppercased() + text.dropFirst()
  }

  /// What happened, or what a validation says.
  public var failureReason: String? { refusal?.errorDescription ?? message }

  /// ``hint``.
  public var recoverySuggestion: String? { hint.map { printable($0) } }
}
