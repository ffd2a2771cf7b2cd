/// The directories of an in-memory file system, which map names to files.
///
/// Paths begin at the root, with or without a leading `/`. There are no symbolic links, and `..` is
/// resolved lexically. Names that are canonically equivalent in Unicode are the same name.
///
/// An operation first computes its changes, which are then applied. A file system that loses some
/// of them in a crash can therefore keep them in a list.
///
/// Invariants:
/// - The table of a directory exists at least as long as a name refers to the directory.
package struct FileTree: Sendable {
  /// A file of the file system that has the tree: an object of one class.
  ///
  /// The tree is not generic: a file system of another module would run it unspecialized.
  package typealias File = any AnyObject & Sendable

  /// A file or directory that a name refers to.
  package enum Node: Sendable {
    case file(File)
    case directory(DirectoryID)
  }

  /// The identity of a directory, independent of its names.
  package struct DirectoryID: Hashable, Sendable {
    package let number: Int
  }

  /// A directory entry: a name in a directory, whether it exists or not.
  package struct Entry: Hashable, Sendable {
    package let directory: DirectoryID
    package let name: String

    package init(directory: DirectoryID, name: String) {
      self.directory = directory
      self.name = name
    }
  }

  /// A new node for a name, or, if nil, the removal of the name.
  package struct Change: Sendable {
    package let entry: Entry
    package let node: Node?
  }

  package static var root: DirectoryID { DirectoryID(number: 0) }

  private var directories: [DirectoryID: [String: Node]] = [Self.root: [:]]
  private var directoryCount = 1

  /// Creates a tree with only the root.
  package init() {}
}

// MARK: Looking up

extension FileTree {
  /// Returns the node at a path.
  package func node(at path: String, _ call: String) throws(SystemError) -> Node {
    guard let entry = try entry(of: path, call) else { return .directory(Self.root) }
    guard let node = self[entry] else {
      throw SystemError(call: call, path: path, code: .notFound)
    }
    return node
  }

  package func file(at path: String, _ call: String) throws(SystemError) -> File {
    guard case .file(let file) = try node(at: path, call) else {
      throw SystemError(call: call, path: path, code: .isADirectory)
    }
    return file
  }

  package func directory(at path: String, _ call: String) throws(SystemError) -> DirectoryID {
    guard case .directory(let directory) = try node(at: path, call) else {
      throw SystemError(call: call, path: path, code: .notADirectory)
    }
    return directory
  }

  /// The names in a directory, sorted by their bytes.
  package func names(in directory: DirectoryID) -> [String] {
    (directories[directory] ?? [:]).keys.sorted {
      $0.utf8.lexicographicallyPrecedes($1.utf8)
    }
  }

  package subscript(entry: Entry) -> Node? { directories[entry.directory]?[entry.name] }

  /// Returns the entry of a path's last name, which need not exist; nil for the root.
  package func entry(of path: String, _ call: String) throws(SystemError) -> Entry? {
    guard !path.isEmpty else { throw SystemError(call: call, path: path, code: .notFound) }
    // As on a real system, where a zero byte ends a path.
    guard !path.utf8.contains(0) else {
      throw SystemError(call: call, path: path, code: .invalidArgument)
    }
    var directory = Self.root
    var last: String?
    var rest = path.utf8[...]
    while let component = Self.popComponent(&rest) {
      // Rare, and needs a list of the components before it.
      if component == ".." { return try entry(of: Self.canonicalPath(path), call) }
      if let name = last {
        switch directories[directory]?[name] {
        case .directory(let next): directory = next
        case .file: throw SystemError(call: call, path: path, code: .notADirectory)
        case nil: throw SystemError(call: call, path: path, code: .notFound)
        }
      }
      last = component
    }
    return last.map { Entry(directory: directory, name: $0) }
  }

  /// Returns the path from the root on, without `.` and `..`.
  package static func canonicalPath(_ path: String) -> String {
    "/" + components(of: path).joined(separator: "/")
  }

  private static func components(of path: String) -> [String] {
    var components: [String] = []
    var rest = path.utf8[...]
    while let component = popComponent(&rest) {
      if component == ".." { _ = components.popLast() } else { components.append(component) }
    }
    return components
  }

  /// Removes the first component of a path and returns it, past empty ones and `.`; nil at the end.
  private static func popComponent(_ path: inout Substring.UTF8View) -> String? {
    while !path.isEmpty {
      let component = path.prefix { $0 != UInt8(ascii: "/") }
      path = path[component.endIndex...].dropFirst()
      let isDot = component.count == 1 && component.first == UInt8(ascii: ".")
      if !component.isEmpty, !isDot { return String(Substring(component)) }
    }
    return nil
  }
}

// MARK: Changing

extension FileTree {
  /// Returns the changes that give a new file its name.
  package func creating(
    _ file: File, at path: String, _ call: String
  ) throws(SystemError) -> [Change] {
    [Change(entry: try freeEntry(of: path, call), node: .file(file))]
  }

  /// Returns the changes that make a directory, and creates its table at once.
  package mutating func makingDirectory(
    _ path: String, _ call: String
  ) throws(SystemError) -> [Change] {
    let entry = try freeEntry(of: path, call)
    let directory = DirectoryID(number: directoryCount)
    directoryCount += 1
    directories[directory] = [:]
    return [Change(entry: entry, node: .directory(directory))]
  }

  package func removing(_ path: String, _ call: String) throws(SystemError) -> [Change] {
    _ = try file(at: path, call)
    return [Change(entry: try ordinaryEntry(of: path, call), node: nil)]
  }

  package func removingDirectory(
    _ path: String, _ call: String
  ) throws(SystemError) -> [Change] {
    let directory = try directory(at: path, call)
    let entry = try ordinaryEntry(of: path, call)
    guard isEmpty(directory) else {
      throw SystemError(call: call, path: path, code: .directoryNotEmpty)
    }
    return [Change(entry: entry, node: nil)]
  }

  package func linking(
    _ path: String, to newPath: String, _ call: String
  ) throws(SystemError) -> [Change] {
    let node = try node(at: path, call)
    let entry = try freeEntry(of: newPath, call)
    guard case .file = node else {
      throw SystemError(call: call, path: path, code: .notPermitted)
    }
    return [Change(entry: entry, node: node)]
  }

  /// Returns the changes that rename a file or directory; none if both names refer to it already.
  package func renaming(
    _ path: String, to newPath: String, _ call: String
  ) throws(SystemError) -> [Change] {
    let source = try ordinaryEntry(of: path, call)
    let target = try ordinaryEntry(of: newPath, call)
    let node = try node(at: path, call)
    if source == target { return [] }
    if case .directory = node, isPath(newPath, within: path) {
      throw SystemError(call: call, path: newPath, code: .invalidArgument)
    }
    if isPath(path, within: newPath) {
      throw SystemError(call: call, path: newPath, code: .directoryNotEmpty)
    }
    switch (node, self[target]) {
    case (.file(let file), .file(let replaced)):
      if file === replaced { return [] }
    case (.file, .directory):
      throw SystemError(call: call, path: newPath, code: .isADirectory)
    case (.directory, .file):
      throw SystemError(call: call, path: newPath, code: .notADirectory)
    case (.directory, .directory(let replaced)):
      guard isEmpty(replaced) else {
        throw SystemError(call: call, path: newPath, code: .directoryNotEmpty)
      }
    case (_, nil): break
    }
    return [Change(entry: source, node: nil), Change(entry: target, node: node)]
  }

  package mutating func apply(_ changes: [Change]) {
    for change in changes {
      directories[change.entry.directory, default: [:]][change.entry.name] = change.node
      // This tree may continue after a crash, and must not give a number to two directories. That
      // includes a directory whose names were flushed while its own name was not.
      directoryCount = max(directoryCount, change.entry.directory.number + 1)
      guard case .directory(let directory) = change.node else { continue }
      directoryCount = max(directoryCount, directory.number + 1)
    }
  }

  private func isPath(_ path: String, within directory: String) -> Bool {
    Self.components(of: path).starts(with: Self.components(of: directory))
  }

  private func isEmpty(_ directory: DirectoryID) -> Bool {
    directories[directory].map(\.isEmpty) != false
  }

  private func freeEntry(of path: String, _ call: String) throws(SystemError) -> Entry {
    guard let entry = try entry(of: path, call), self[entry] == nil else {
      throw SystemError(call: call, path: path, code: .exists)
    }
    return entry
  }

  /// Returns the entry of a path, which must not be the root: no operation can change that.
  private func ordinaryEntry(of path: String, _ call: String) throws(SystemError) -> Entry {
    guard let entry = try entry(of: path, call) else {
      throw SystemError(call: call, path: path, code: .invalidArgument)
    }
    return entry
  }
}
