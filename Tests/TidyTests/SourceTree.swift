import Foundation

/// The project's own files, as text.
struct SourceTree {
  let root: URL

  init() {
    // Tests/TidyTests/SourceTree.swift → the project.
    root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
  }

  struct File {
    /// From the project's root.
    let path: String
    let text: String

    /// The text without comments and without what stands in quotes.
    var code: String {
      var text = text.replacing(/"""[\s\S]*?"""/, with: "\"\"")
      text = text.replacing(/"(?:\\.|[^"\\\n])*"/, with: "\"\"")
      return text.replacing(/\/\/[^\n]*/, with: "")
    }
  }

  /// The files below a folder whose names end with one of `extensions`.
  func files(in folder: String, extensions: [String] = ["swift"]) -> [File] {
    let base = root.appending(path: folder)
    guard let paths = FileManager.default.enumerator(atPath: base.path)?.allObjects as? [String]
    else { return [] }
    return paths.filter { path in
      extensions.contains { path.hasSuffix(".\($0)") } && !path.contains(".build/")
    }.sorted().compactMap { path in
      guard let data = try? Data(contentsOf: base.appending(path: path)),
        let text = String(data: data, encoding: .utf8)
      else { return nil }
      return File(path: "\(folder)/\(path)", text: text)
    }
  }
}
