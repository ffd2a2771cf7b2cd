import DivanLog
import Foundation

/// A folder with golden stores: of each its files in `NAME.divan`, and in `NAME.jsonl` what it holds.
///
/// Where documents have more than properties, what is to be read stands in `NAME.dump`: see ``GoldenDump``.
///
/// Where that is large, `NAME.digest` stands for it: the number of its lines and their SHA-256.
///
/// Nothing in it is ever written again: a store that an earlier version wrote is evidence that its files
/// stay readable, which one that was made anew is not.
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
  /// The names of the stores that are there.
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

  /// What ``GoldenDump`` says of a store; nil where its contents are told by ``contents(of:)``.
  package func dump(of name: String) throws -> [String]? {
    guard FileManager.default.fileExists(atPath: dump(name).path) else { return nil }
    let text = String(decoding: try Data(contentsOf: dump(name)), as: UTF8.self)
    return text.split(separator: "\n").map(String.init)
  }

  private func digest(_ name: String) -> URL { url.appending(path: "\(name).digest") }

  /// What a store holds; nil for a line that cannot be read.
  package func contents(of name: String) throws -> [GoldenLine?] {
    guard let data = try? Data(contentsOf: lines(name)) else { return try digested(name) }
    let text = String(decoding: data, as: UTF8.self)
    return text.split(separator: "\n").map { GoldenLine(json: String($0)) }
  }

  /// What is stored where the store is made anew today, if its digest is that of what was stored then.
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

  /// Makes the stores of ``GoldenStores`` that are not there, and returns their names.
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
