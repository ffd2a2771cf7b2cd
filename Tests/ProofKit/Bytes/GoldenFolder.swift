import DivanLog
import Foundation

/// A folder of golden stores: the files of each in `NAME.divan`, and its contents in `NAME.jsonl`.
///
/// If documents have more than properties, the expected dump is in `NAME.dump`: see ``GoldenDump``.
///
/// If the contents are large, `NAME.digest` replaces them: the number of lines and their SHA-256.
///
/// Nothing in the folder is ever rewritten: a store that an earlier version wrote proves that its
/// files remain readable, which a rebuilt store does not.
package struct GoldenFolder: Sendable {
  private let url: URL

  package init(_ path: String) { url = URL(filePath: path, directoryHint: .isDirectory) }

  /// The stores of version 1 that are checked in.
  package static let version1 = GoldenFolder(
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
      .appending(path: "Fixtures/v1").path)
}

extension GoldenFolder {
  /// The names of the stores in the folder.
  package var names: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: url.path)
        .filter { $0.hasSuffix(".divan") }.map { String($0.dropLast(6)) }.sorted()
    }
  }

  private func directory(_ name: String) -> URL { url.appending(path: "\(name).divan") }

  private func lines(_ name: String) -> URL { url.appending(path: "\(name).jsonl") }

  /// The files of a store by their names.
  package func files(of name: String) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for file in try FileManager.default.subpathsOfDirectory(atPath: directory(name).path) {
      let place = directory(name).appending(path: file)
      let isFile = try place.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile
      if isFile == true { files[file] = [UInt8](try Data(contentsOf: place)) }
    }
    return files
  }

  private func dump(_ name: String) -> URL { url.appending(path: "\(name).dump") }

  /// Returns the ``GoldenDump`` of a store; nil if ``contents(of:)`` describes it.
  package func dump(of name: String) throws -> [String]? {
    guard FileManager.default.fileExists(atPath: dump(name).path) else { return nil }
    let text = String(decoding: try Data(contentsOf: dump(name)), as: UTF8.self)
    return text.split(separator: "\n").map(String.init)
  }

  private func digest(_ name: String) -> URL { url.appending(path: "\(name).digest") }

  /// Returns the contents of a store; nil for a line that cannot be read.
  package func contents(of name: String) throws -> [GoldenLine?] {
    guard let data = try? Data(contentsOf: lines(name)) else { return try digested(name) }
    let text = String(decoding: data, as: UTF8.self)
    return text.split(separator: "\n").map { GoldenLine(json: String($0)) }
  }

  /// Returns the contents of a store rebuilt today, if its digest matches the original one.
  private func digested(_ name: String) throws -> [GoldenLine?] {
    let expected = String(decoding: try Data(contentsOf: digest(name)), as: UTF8.self)
    let contents = try GoldenStores.all.first { $0.name == name }?.make().contents ?? []
    guard GoldenFolder.digest(of: contents) == expected else {
      throw CrashOracle.Mismatch("\(name) was made of other documents")
    }
    return contents
  }

  private static func text(of contents: [GoldenLine]) -> String {
    contents.map { $0.json + "\n" }.joined()
  }

  private static func digest(of contents: [GoldenLine]) -> String {
    let bytes = SharedBytes(copying: Array(text(of: contents).utf8))
    return "\(contents.count) lines\n\(SHA256.digest(of: bytes))\n"
  }

  /// Creates the stores of ``GoldenStores`` that are missing, and returns their names.
  package func addMissingStores() throws -> [String] {
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    let present = Set(try names)
    var added: [String] = []
    for golden in GoldenStores.all + GoldenStores.rich where !present.contains(golden.name) {
      let store = try golden.make()
      try FileManager.default.createDirectory(
        at: directory(store.name), withIntermediateDirectories: false)
      for (name, bytes) in store.files {
        let place = directory(store.name).appending(path: name)
        try FileManager.default.createDirectory(
          at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: place)
      }
      if let lines = store.dumps.last {
        try Data(lines.map { $0 + "\n" }.joined().utf8).write(to: dump(store.name))
        added.append(store.name)
        continue
      }
      let text = GoldenFolder.text(of: store.contents)
      if text.utf8.count <= 256 << 10 {
        try Data(text.utf8).write(to: lines(store.name))
      } else {
        try Data(GoldenFolder.digest(of: store.contents).utf8).write(to: digest(store.name))
      }
      added.append(store.name)
    }
    return added
  }
}
