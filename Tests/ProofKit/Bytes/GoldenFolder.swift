import Foundation

/// A folder with golden stores: of each its files in `NAME.divan`, and in `NAME.jsonl` what it holds.
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
    for file in try FileManager.default.contentsOfDirectory(atPath: directory(name).path) {
      files[file] = [UInt8](try Data(contentsOf: directory(name).appending(path: file)))
    }
    return files
  }

  /// What a store holds; nil for a line that cannot be read.
  package func contents(of name: String) throws -> [GoldenLine?] {
    let text = String(decoding: try Data(contentsOf: lines(name)), as: UTF8.self)
    return text.split(separator: "\n").map { GoldenLine(json: String($0)) }
  }

  /// Makes the stores of ``GoldenStores`` that are not there, and returns their names.
  package func addMissingStores() throws -> [String] {
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    let present = Set(try names)
    var added: [String] = []
    for golden in GoldenStores.all where !present.contains(golden.name) {
      let store = try golden.make()
      try FileManager.default.createDirectory(
        at: directory(store.name), withIntermediateDirectories: false)
      for (name, bytes) in store.files {
        try Data(bytes).write(to: directory(store.name).appending(path: name))
      }
      let text = store.contents.map { $0.json + "\n" }.joined()
      try Data(text.utf8).write(to: lines(store.name))
      added.append(store.name)
    }
    return added
  }
}
