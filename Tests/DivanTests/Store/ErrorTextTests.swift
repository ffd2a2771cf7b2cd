import Divan
import DivanLog
import Foundation
import TestSupport
import Testing

/// Tests of the texts of errors.
struct ErrorTextTests {
  static let hostile = "a\u{1B}[2J\nb\u{202E}c\u{2028}d\u{85}\u{2066}\u{7F}"
  static let safe =
    "a\\u{1b}[2J\\u{a}b\\u{202e}c\\u{2028}d\\u{85}\\u{2066}\\u{7f}"

  @Test
  func `printable text escapes only control characters, line breaks and direction marks`() {
    #expect(printable(Self.hostile) == Self.safe)
    #expect(printable(Self.safe) == Self.safe)
    for text in ["", "plain", "Amélie", "漢字", "שלום", "👩‍👩‍👧", "می‌خواهم", "\\u{", "\"'`"] {
      #expect(printable(text) == text)
    }
    for scalar in ["\u{0}", "\u{9}", "\r\n", "\u{200E}", "\u{61C}", "\u{FEFF}", "\u{206F}"] {
      #expect(printable(scalar).hasPrefix("\\u{"), "\(scalar.debugDescription)")
    }
  }

  /// Crash reports of released programs have the numbers.
  @Test func `the numbers of codes never change`() throws {
    var numbers: [String: Int] = [:]
    for path in ["Errors/DatabaseError.swift", "Model/DatabaseError+Models.swift"] {
      let url = ProjectFolder.url.appending(path: "Sources/Divan/" + path)
      let source = try String(contentsOf: url, encoding: .utf8)
      for match in source.matches(of: /= Self\("(\w+)", (\d+)\)/) {
        numbers[String(match.1)] = Int(match.2)
      }
    }
    #expect(numbers == Self.numbers)
    #expect(Set(numbers.values).count == numbers.count)
    #expect(DatabaseError.Code.conflict.number == 101)
  }

  private static let numbers = [
    "conflict": 101, "notFound": 102, "alreadyExists": 103, "invalidDocumentID": 104,
    "invalidRevisionID": 105, "invalidSnapshotName": 106, "versionNotRetained": 107,
    "invalidValue": 108, "invalidAttachment": 109, "mismatchedType": 110, "invalidJSON": 111,
    "documentTooLarge": 112, "transactionTooLarge": 113, "nestedWrite": 114, "timedOut": 115,
    "cancelled": 116, "closed": 117, "suspended": 118, "validationFailed": 119, "notUnique": 120,
    "invalidIndex": 121, "viewFailed": 122, "invalidQuery": 123, "feedPositionMismatch": 124,
    "storeInUse": 201, "accessDenied": 202, "readOnly": 203, "diskFull": 204,
    "resourceExhausted": 205, "inputOutput": 206, "outcomeUnknown": 207, "writerStopped": 208,
    "damaged": 301, "notAStore": 302, "newerFormat": 303, "missingKey": 304, "inTransaction": 401,
    "notInContext": 402, "modelClassMismatch": 403, "unsavedModels": 404, "invalidModel": 405,
    "deleteDenied": 406, "invalidModelClass": 407,
  ]

  @Test func `every text of an error is a single line, even with control characters in an ID`()
    throws
  {
    var error = DatabaseError(
      .notFound, "there is no index \(Self.hostile)", hint: "make \(Self.hostile)",
      documentID: Self.hostile, path: "/\(Self.hostile)",
      underlying: InvalidNameError(name: Self.hostile))
    error.hint = Self.hostile
    #expect(error.message == "there is no index \(Self.safe)")
    // The properties keep the original text.
    #expect(error.documentID == Self.hostile)
    let texts = [
      error.description, error.message, error.localizedDescription, error.recoverySuggestion,
      error.failureReason,
    ]
    for text in texts {
      let text = try #require(text)
      #expect(printable(text) == text)
    }
    #expect(error.description.contains("document \(Self.safe); /\(Self.safe); cause: "))
    #expect(
      printable(ValidationFailure(Self.hostile, keys: ["\n"]).description).contains("(\\u{a})"))
  }

  private struct InvalidNameError: Error, CustomStringConvertible {
    let name: String
    var description: String { name }
  }

  @Test func `errors about IDs with control characters can be printed safely`() throws {
    let database = try Database.inMemory()
    let id = Self.hostile
    try database.write { try $0.put(Document(id: id)) }
    var errors: [any Error] = []
    func collect(_ body: () throws -> Void) {
      do { try body() } catch { errors.append(error) }
    }
    collect { try database.write { _ = try $0.put(Document(id: id)) } }
    collect { try database.write { _ = try $0.put(Document(id: "_\(id)")) } }
    collect { try database.write { _ = try $0.put(Document(id: "x", ["_\(id)": 1])) } }
    collect { _ = try database.snapshot(named: id) }
    collect {
      try database.addIndex(DocumentIndex(id + String(repeating: "x", count: 300), on: "a"))
    }
    collect { _ = try RevisionID(parsing: id) }
    var reading = Configuration()
    reading.isReadOnly = true
    collect { _ = try Database(at: "/nowhere\(id)/x", configuration: reading) }
    #expect(errors.count == 7, "\(errors)")
    for error in errors {
      let text = "\(error)"
      #expect(printable(text) == text, "\(text.debugDescription)")
      #expect(printable(error.localizedDescription) == error.localizedDescription)
    }
  }

  /// Regression: the description was that the operation could not be completed.
  @Test func `the localized description has the message and the document ID`() throws {
    let error: any Error = DatabaseError(
      .conflict, "the document was changed meanwhile", hint: "Read it again", documentID: "film")
    #expect(error.localizedDescription == "The document was changed meanwhile; document film")
    let localized = try #require(error as? any LocalizedError)
    #expect(localized.failureReason == "the document was changed meanwhile")
    #expect(localized.recoverySuggestion == "Read it again")
    let refusal: any Error = ValidationFailure("no title", keys: ["title"])
    #expect(refusal.localizedDescription == "no title (title)")
  }

  @Test func `the localized description of a refused write has the reason of the validation`()
    throws
  {
    let database = try Database.inMemory()
    database.setValidation(named: "titles") { try $0.reject("no title", keys: ["title"]) }
    do {
      try database.write { _ = try $0.put(Document(id: "film")) }
      Issue.record("the document was stored")
    } catch {
      #expect(error.localizedDescription.contains("no title"))
      #expect((error as? any LocalizedError)?.failureReason == "no title (title)")
    }
  }
}
