import Foundation
import Synchronization

/// The project's own files, as text.
struct SourceTree {
  let root: URL

  init() {
    // Tests/TidyTests/SourceTree.swift → the project.
    root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
  }

  final class File: Sendable {
    /// From the project's root.
    let path: String
    let text: String
    private let knownCode = Mutex<String?>(nil)

    init(path: String, text: String) {
      self.path = path
      self.text = text
    }

    /// The text without comments and string literals.
    var code: String {
      knownCode.withLock { known in
        if let known { return known }
        let code = SourceTree.code(in: text)
        known = code
        return code
      }
    }

    /// Whether the file imports a module, with any access level.
    func imports(_ module: String) -> Bool {
      code.utf8.split(separator: UInt8(ascii: "\n")).contains { line in
        let words = line.split(separator: UInt8(ascii: " ")).map { String(Substring($0)) }
        guard let index = words.firstIndex(of: "import") else { return false }
        return words.dropFirst(index + 1).contains {
          $0.split(separator: ".").first.map(String.init) == module
        }
      }
    }
  }

  /// Returns a text without comments and string literals.
  private static func code(in text: String) -> String {
    let bytes = Array(text.utf8)
    let (quote, slash, escape, newline) = (
      UInt8(ascii: "\""), UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "\n")
    )
    var code: [UInt8] = []
    var index = 0
    func begins(_ byte: UInt8, _ count: Int) -> Bool {
      index + count <= bytes.count && bytes[index..<index + count].allSatisfy { $0 == byte }
    }
    while index < bytes.count {
      if begins(quote, 3) {
        index += 3
        while index < bytes.count, !begins(quote, 3) { index += 1 }
        index += 3
      } else if bytes[index] == quote {
        index += 1
        while index < bytes.count, bytes[index] != quote, bytes[index] != newline {
          index += bytes[index] == escape ? 2 : 1
        }
        if index < bytes.count, bytes[index] == quote { index += 1 }
      } else if begins(slash, 2) {
        while index < bytes.count, bytes[index] != newline { index += 1 }
      } else {
        code.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: code, as: UTF8.self)
  }

  /// Whether a byte belongs to a word: letters, digits and underscores.
  static func isPartOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
      true
    default: false
    }
  }

  /// All words in a text, each once.
  static func words(in text: String) -> Set<String> {
    Set(
      Array(text.utf8).split { !isPartOfWord($0) }.map { String(decoding: $0, as: UTF8.self) })
  }

  /// The files below a folder whose names end with one of `extensions`.
  ///
  /// A folder is read once, for all tests.
  func files(in folder: String, extensions: [String] = ["swift"]) -> [File] {
    SourceTree.cache.withLock { cache in
      let key = [folder] + extensions
      if let known = cache[key] { return known }
      let files = read(folder, extensions)
      cache[key] = files
      return files
    }
  }

  private static let cache = Mutex<[[String]: [File]]>([:])

  private func read(_ folder: String, _ extensions: [String]) -> [File] {
    let base = root.appending(path: folder)
    guard let enumerator = FileManager.default.enumerator(atPath: base.path) else { return [] }
    var paths: [String] = []
    while let path = enumerator.nextObject() as? String {
      // Build products are many, and are no part of the project, even in nested packages.
      if path.hasSuffix(".build") || path == ".git" { enumerator.skipDescendants() }
      if extensions.contains(where: { path.hasSuffix(".\($0)") }) { paths.append(path) }
    }
    return paths.sorted().compactMap { path in
      guard let data = try? Data(contentsOf: base.appending(path: path)),
        let text = String(data: data, encoding: .utf8)
      else { return nil }
      return File(path: "\(folder)/\(path)", text: text)
    }
  }
}
