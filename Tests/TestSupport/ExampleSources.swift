public import Foundation

/// The code of tests, for comparison with the code of pages and documentation comments.
public struct ExampleSources {
  private let files: [[String]]

  /// Reads the tests in a folder, and more files.
  public init(in folder: URL, and others: [URL] = []) throws {
    files = try (try ExampleSources.sources(in: folder) + others).map { url in
      ExampleSources.lines(try String(contentsOf: url, encoding: .utf8))
    }
  }

  /// Returns the Swift files in a folder.
  public static func sources(in folder: URL) throws -> [URL] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".swift") }.map { folder.appending(path: $0) }
  }

  /// Returns the trimmed lines of a text that are not empty, with two spaces before a comment.
  public static func lines(_ text: some StringProtocol) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty }
      .map { $0.contains("  //") ? $0.replacing(#/ +// /#, with: "  // ") : $0 }
  }

  /// Returns the lines of each example in a page or comment.
  public static func examples(in text: String) -> [[String]] {
    text.matches(of: /```swift\n([\s\S]*?)```/).map { lines($0.output.1) }
  }

  /// Returns the names of the public types in a folder of the project, each with its comment.
  public static func typeComments(in path: String) throws -> [(type: String, comment: String)] {
    let root = ProjectFolder.url.appending(path: path)
    return try FileManager.default.subpathsOfDirectory(atPath: root.path)
      .filter { $0.hasSuffix(".swift") }
      .flatMap { name in
        comments(ofTypesIn: try String(contentsOf: root.appending(path: name), encoding: .utf8))
      }
  }

  /// Returns the names of the public types in a file, each with its comment.
  private static func comments(ofTypesIn source: String) -> [(type: String, comment: String)] {
    let declaration =
      /^(?:nonisolated )?(?:public|open) (?:final )?(?:struct|class|enum|protocol) (?!var |func )(\w+)/
    var types: [(type: String, comment: String)] = []
    var comment = ""
    for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
      let text = line.trimmingCharacters(in: .whitespaces)
      if text.hasPrefix("///") {
        comment += text.dropFirst(3) + "\n"
      } else if !text.hasPrefix("@") {
        if let match = text.firstMatch(of: declaration) {
          types.append((String(match.output.1), comment))
        }
        comment = ""
      }
    }
    return types
  }

  /// Returns whether the lines of an example follow each other in a file.
  public func contains(_ example: [String]) -> Bool {
    !example.isEmpty && files.contains { $0.contains(example) }
  }
}
