import Divan
import DivanLog
import DivanTesting
import Testing

@testable import logdump

extension DumpedStore {
  /// Returns what a report shows of the store.
  func reported(document: String? = nil) throws -> ReportContents {
    var configuration = configuration
    configuration.isReadOnly = true
    configuration.damage = .salvage
    let database = try? Database(at: path, configuration: configuration)
    let log = try OpenedLog.open(path, on: fileSystem)
    var gathering = ReportGathering(log, path, Progress(nil))
    try gathering.run(database, document: document)
    return gathering.contents
  }

  /// Runs `report`, and returns the page with the result.
  func report(_ arguments: String...) throws -> (run: Run, page: HTMLPage) {
    let path = "/report.html"
    let run = dumpAll(["report", "--html", path, "--force"] + arguments)
    let bytes = try fileSystem.contents(of: path, limit: 1 << 24)
    return (run, try HTMLPage(String(decoding: bytes.array, as: UTF8.self)))
  }
}

/// A store with random contents, and a plain model of them.
struct ModeledStore {
  let store = DumpedStore()
  /// The number of edits of each document, by its ID.
  private(set) var edits: [String: Int] = [:]
  /// The properties of documents that are not deleted.
  private(set) var documents: [String: Value.Object] = [:]
  /// The contents of attachments, each once.
  private(set) var contents: Set<[UInt8]> = []
  /// The number of records that a later one of the same document superseded.
  private(set) var supersededCount = 0
  /// The documents that changed after the named snapshot was saved, and were in it.
  private(set) var changedCount = 0
  /// The number of leaves of each document in conflict.
  private(set) var leafCounts: [String: Int] = [:]

  /// Makes a store with all of its history.
  init(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var configuration = store.configuration
    configuration.history = .unlimited
    configuration.segmentSizeGoal = 20_000
    let database = try Database(at: store.path, configuration: configuration)
    try database.addIndex(DocumentIndex("by kind", on: "kind"))
    try database.addIndex(DocumentIndex("by tag", on: "tags", eachElement: true))
    var changed: Set<String> = []
    var inSnapshot: Set<String>?
    for step in 0..<60 {
      try database.write { transaction in
        for _ in 0..<Int.random(in: 1...8, using: &random) {
          let id = "document \(Int.random(in: 0..<60, using: &random))"
          if inSnapshot?.contains(id) == true { changed.insert(id) }
          if edits[id] != nil { supersededCount += 1 }
          edits[id, default: 0] += 1
          if documents[id] != nil, Int.random(in: 0..<5, using: &random) == 0 {
            documents[id] = nil
            try transaction.delete(id)
            continue
          }
          let properties = ModeledStore.properties(&random)
          documents[id] = properties
          if let old = try transaction.document(id) ?? transaction.tombstone(id), !old.isDeleted {
            var document = old
            document.properties = properties
            try attach(to: &document, &random)
            try transaction.put(document)
          } else {
            var document = Document(id: id, properties)
            try attach(to: &document, &random)
            try transaction.put(document)
          }
        }
      }
      if step == 30 {
        inSnapshot = Set(edits.keys)
        try database.saveSnapshot(named: "middle")
      }
    }
    changedCount = changed.count
    try database.write { transaction in
      for number in 0..<5 {
        let id = "shared \(number)"
        for branch in 0..<number + 2 {
          let revision = try RevisionID(parsing: "1-branch\(branch)")
          _ = try transaction.insert(Document(id: id, ["kind": 0]), history: [revision])
        }
        leafCounts[id] = number + 2
      }
    }
    try database.close()
  }

  private static func properties(_ random: inout SeededGenerator) -> Value.Object {
    var properties: Value.Object = [
      "tags": .array(
        (0..<Int.random(in: 0..<4, using: &random)).map { _ in
          .int(Int64.random(in: 0..<9, using: &random))
        }),
      "text": .string(String(repeating: "x", count: Int.random(in: 0..<400, using: &random))),
    ]
    if Bool.random(using: &random) {
      properties["kind"] = .int(Int64.random(in: 1..<6, using: &random))
    }
    return properties
  }

  private mutating func attach(
    to document: inout Document, _ random: inout SeededGenerator
  ) throws {
    guard Int.random(in: 0..<6, using: &random) == 0 else { return }
    let size = Bool.random(using: &random) ? 70_000 : 500
    let content = [UInt8](repeating: UInt8.random(in: 0..<5, using: &random), count: size)
    contents.insert(content)
    document.attachments["file"] = Document.Attachment(contentType: "x/y", content)
  }
}

/// A page of HTML, read strictly: each element is closed, and each attribute has quotes.
struct HTMLPage {
  struct Element {
    let name: String
    let attributes: [String: String]
    let depth: Int
    /// The text in it and in its descendants.
    var text = ""
  }

  struct Malformed: Error { let reason: String }

  let source: String
  private(set) var elements: [Element] = []
  private static let voidNames: Set<String> = ["meta"]

  init(_ source: String) throws {
    self.source = source
    guard source.hasPrefix("<!DOCTYPE html>\n") else { throw Malformed(reason: "no DOCTYPE") }
    var rest = source.dropFirst("<!DOCTYPE html>".count)
    var open: [Int] = []
    while !rest.isEmpty {
      guard rest.first == "<" else {
        let end = rest.firstIndex(of: "<") ?? rest.endIndex
        let text = try HTMLPage.decoded(
          rest[..<end], isStyle: open.last.map { elements[$0].name } == "style")
        for index in open { elements[index].text += text }
        rest = rest[end...]
        continue
      }
      guard let end = rest.firstIndex(of: ">") else { throw Malformed(reason: "an open tag") }
      let tag = rest[rest.index(after: rest.startIndex)..<end]
      rest = rest[rest.index(after: end)...]
      if tag.first == "/" {
        guard let index = open.popLast(), elements[index].name == tag.dropFirst() else {
          throw Malformed(reason: "</\(tag.dropFirst())> closes nothing")
        }
        continue
      }
      let isClosed = tag.last == "/"
      let element = try HTMLPage.element(isClosed ? tag.dropLast() : tag, depth: open.count)
      elements.append(element)
      if !isClosed, !HTMLPage.voidNames.contains(element.name) { open.append(elements.count - 1) }
    }
    guard open.isEmpty else { throw Malformed(reason: "\(open.count) elements are not closed") }
  }

  private static func element(_ tag: Substring, depth: Int) throws -> Element {
    let parts = tag.split(separator: " ", maxSplits: 1)
    guard let name = parts.first, name.allSatisfy({ $0.isLetter || $0.isNumber }) else {
      throw Malformed(reason: "the tag <\(tag)>")
    }
    var attributes: [String: String] = [:]
    var rest = parts.count > 1 ? parts[1] : ""
    while !rest.isEmpty {
      let (attribute, value) = try nextAttribute(&rest)
      guard attributes[attribute] == nil else { throw Malformed(reason: "\(attribute) twice") }
      attributes[attribute] = try decoded(value, isStyle: false)
    }
    return Element(name: "\(name)", attributes: attributes, depth: depth)
  }

  /// Takes an attribute off a tag: letters and hyphens, then a value in quotes, and a space if more
  /// follows.
  ///
  /// A page has many, and a pattern would take most of the time of reading it.
  private static func nextAttribute(
    _ rest: inout Substring
  ) throws -> (name: String, value: Substring) {
    let bytes = rest.utf8
    let (quote, hyphen) = (UInt8(ascii: "\""), UInt8(ascii: "-"))
    let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
    let name = bytes.prefix { letters.contains($0 | 0x20) || $0 == hyphen }
    let value = bytes[name.endIndex...].dropFirst(2).prefix { $0 != quote }
    guard !name.isEmpty, bytes[name.endIndex...].starts(with: "=\"".utf8),
      value.endIndex < bytes.endIndex
    else { throw Malformed(reason: "the attributes \(rest)") }
    let end = bytes.index(after: value.endIndex)
    rest = rest[end...]
    if rest.utf8.first == UInt8(ascii: " ") { rest = rest.dropFirst() }
    return (String(Substring(name)), Substring(value))
  }

  private static func decoded(_ text: Substring, isStyle: Bool) throws -> String {
    if isStyle { return String(text) }
    var decoded = ""
    var rest = text
    while let index = rest.firstIndex(of: "&") {
      decoded += rest[..<index]
      rest = rest[index...]
      let entities = ["&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": "\"", "&#39;": "'"]
      guard let entity = entities.first(where: { rest.hasPrefix($0.key) }) else {
        throw Malformed(reason: "an & in \(text)")
      }
      decoded += entity.value
      rest = rest.dropFirst(entity.key.count)
    }
    return decoded + rest
  }
}

extension HTMLPage {
  func all(_ name: String, _ style: String? = nil) -> [Element] {
    elements.filter { element in
      let styles = element.attributes["class"]?.split(separator: " ").map(String.init) ?? []
      return element.name == name && style.map(styles.contains) ?? true
    }
  }

  /// The text of the page's body.
  var text: String { all("body").first?.text ?? "" }

  /// The elements in the section with an ID.
  func section(_ id: String) -> ArraySlice<Element> {
    guard
      let start = elements.firstIndex(where: { $0.name == "section" && $0.attributes["id"] == id })
    else { return [] }
    let rest = elements[(start + 1)...]
    return rest.prefix { $0.depth > elements[start].depth }
  }
}
