import Foundation

/// The declarations of a target by folder, and what each file uses of them.
struct Layering {
  /// A folder: its group and its inner folder.
  struct Folder: Hashable, CustomStringConvertible {
    let group: String
    let layer: String
    var description: String { layer.isEmpty ? group : "\(group)/\(layer)" }
  }

  /// A name that a file uses though an exception is needed for it.
  struct Use: Hashable {
    let name: String
    let exception: String
  }

  private let target: String
  private let groups: [LayeringTests.Group]
  private let files: [(file: SourceTree.File, folder: Folder, code: String)]
  /// The folder of each type.
  private var types: [String: Folder] = [:]
  /// The folders that declare a member of a name.
  private var members: [String: Set<Folder>] = [:]
  /// Members that only extensions of other folders' types declare, by name.
  private var added: Set<String> = []
  /// Folders that no layer is for.
  private(set) var unknownFolders: Set<String> = []

  var typeCount: Int { types.count }

  init(_ target: String, _ groups: [LayeringTests.Group], in tree: SourceTree) {
    self.target = target
    self.groups = groups
    files = tree.files(in: "Sources/\(target)").map { file in
      let parts = file.path.split(separator: "/").dropFirst(2).dropLast().map(String.init)
      let folder = Folder(
        group: parts.first ?? "", layer: parts.dropFirst().joined(separator: "/"))
      return (file, folder, file.code)
    }
    for (_, folder, code) in files {
      let group = groups.first { $0.name == folder.group }
      if group == nil || group?.layers.map({ !$0.contains(folder.layer) }) ?? false {
        unknownFolders.insert("\(folder)")
      }
      for name in Layering.typesDeclared(in: code) { types[name] = folder }
    }
    var own: Set<String> = []
    for (_, folder, code) in files {
      // The type that an extension at this line is of, if its home is another folder.
      var extended: Folder?
      for line in code.utf8.split(separator: UInt8(ascii: "\n")) {
        let depth = line.prefix { $0 == UInt8(ascii: " ") }.count
        if depth == 0, line.first != UInt8(ascii: "}") {
          let match = Substring(line).prefixMatch(of: /(?:public |package )?extension (\w+)/)
          extended = match.flatMap { types[String($0.output.1)] }.flatMap {
            $0 == folder ? nil : $0
          }
        }
        for name in Layering.namesDeclared(in: line) {
          members[name, default: []].insert(folder)
          if extended != nil, depth == 2 {
            added.insert(name)
          } else {
            own.insert(name)
          }
        }
      }
    }
    added.subtract(own)
  }

  /// The names of types and functions that a file declares for others.
  private static func typesDeclared(in code: String) -> [String] {
    let pattern =
      /(?:@\w+ )?(?:(?:public|package|internal|open|final|nonisolated|indirect) )*(?:struct|class|enum|protocol|actor|typealias|func) (\w+)/
    // Patterns are slow, and types that others see begin their lines.
    return code.utf8.split(separator: UInt8(ascii: "\n"))
      .filter { $0.first != UInt8(ascii: " ") && $0.first != UInt8(ascii: "}") }
      .compactMap { Substring($0).prefixMatch(of: pattern).map { String($0.output.1) } }
  }

  private static let keywords = ["func", "var", "let", "case", "typealias"].map { Array($0.utf8) }

  /// The names that a line declares, wherever it is.
  private static func namesDeclared(in line: Substring.UTF8View) -> [String] {
    let words = line.split { !isWord($0) }
    return zip(words, words.dropFirst()).compactMap { word, next in
      keywords.contains { $0.elementsEqual(word) } ? String(Substring(next)) : nil
    }
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "_") || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
      || byte | 32 >= UInt8(ascii: "a") && byte | 32 <= UInt8(ascii: "z")
  }

  private func mayUse(_ user: Folder, _ used: Folder) -> Bool {
    guard user != used, let group = groups.first(where: { $0.name == user.group }) else {
      return true
    }
    guard user.group == used.group else { return group.uses.contains(used.group) }
    guard let layers = group.layers, let mine = layers.firstIndex(of: user.layer),
      let other = layers.firstIndex(of: used.layer)
    else { return true }
    return other < mine
  }

  /// The exception that lets a file use a name, if there is one.
  private func exception(_ path: String, _ name: String) -> String? {
    LayeringTests.exceptions.first { exception in
      guard exception.names.contains(name) else { return false }
      return exception.file.hasSuffix("*")
        ? path.hasPrefix("Sources/" + exception.file.dropLast())
        : path == "Sources/" + exception.file
    }?.file
  }

  /// What files use that is above them, and the exceptions that others needed.
  func violations() -> (violations: [String], exceptions: Set<Use>) {
    var violations: [String] = []
    var exceptions: Set<Use> = []
    for (file, folder, code) in files {
      func note(_ name: String, _ homes: [Folder]) {
        if let exception = exception(file.path, name) {
          exceptions.insert(Use(name: name, exception: exception))
        } else {
          violations.append(
            "\(file.path) uses \(name) of \(homes.map(\.description).sorted().joined(separator: ", "))"
          )
        }
      }
      let fileName = file.path.split(separator: "/").last ?? ""
      for word in SourceTree.words(in: code) {
        // A file named `Type+Aspect` is a part of that type.
        if let home = types[word], !mayUse(folder, home), !fileName.hasPrefix(word + "+") {
          note(word, [home])
        }
      }
      for name in Layering.membersUsed(in: code) where added.contains(name) {
        let homes = members[name] ?? []
        if !homes.contains(where: { mayUse(folder, $0) }) { note(name, Array(homes)) }
      }
    }
    return (violations, exceptions)
  }

  /// The names after a period.
  private static func membersUsed(in code: String) -> Set<String> {
    var names: Set<String> = []
    let bytes = Array(code.utf8)
    var index = 0
    while index < bytes.count {
      defer { index += 1 }
      guard bytes[index] == UInt8(ascii: ".") else { continue }
      var end = index + 1
      while end < bytes.count, isWord(bytes[end]) { end += 1 }
      if end > index + 1 { names.insert(String(decoding: bytes[index + 1..<end], as: UTF8.self)) }
    }
    return names
  }
}

extension String {
  /// The text with spaces behind it.
  func padded(to count: Int) -> String {
    self + String(repeating: " ", count: max(1, count - self.count))
  }
}
