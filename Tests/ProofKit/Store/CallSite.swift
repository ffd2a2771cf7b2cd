import DivanLog
package import DivanTesting

/// A place in the work with a store where the disk is called.
///
/// It has the current operation, the call, and the kind of file.
package struct CallSite: Hashable, Sendable, Codable {
  /// The current operation of the store's user.
  package enum Phase: String, CaseIterable, Sendable, Codable {
    case open, commit, read, flush, checkpoint, merge, compact, index, backup, restore, view, close,
      other
  }

  /// The kind of file of the call.
  package enum File: String, CaseIterable, Sendable, Codable {
    case lock = "LOCK"
    case head = "HEAD"
    case flushed = "FLUSHED"
    case reserve = "RESERVE"
    case check = "CHECK"
    case segment, merged, checkpoint, view
    case storeDirectory = "store"
    /// The directory that contains the store.
    case parentDirectory = "parent"
    case temporaries = "tmp"
    case attachment
    /// `attachments/`, or one of the folders in it.
    case attachmentFolder = "attachments"
    case other
  }

  package let phase: Phase
  package let verb: SimulatedDisk.Verb
  package let file: File
  /// Whether the file is still being created.
  package let isTemporary: Bool

  package init(_ phase: Phase, _ call: SimulatedCall) {
    self.phase = phase
    verb = call.verb
    var parts = call.path.split(separator: "/")
    let name = parts.popLast().map(String.init) ?? ""
    isTemporary = parts.last == "tmp"
    if parts.last == "attachments" || parts.dropLast().last == "attachments" {
      file = parts.last == "attachments" ? .attachmentFolder : .attachment
    } else {
      file = isTemporary && name.hasPrefix("attachment-") ? .attachment : File(name: name)
    }
  }
}

extension SimulatedDisk.Verb: Codable {}

extension CallSite: CustomStringConvertible {
  package var description: String {
    "\(phase.rawValue): \(verb.rawValue) \(isTemporary ? "tmp/" : "")\(file.rawValue)"
  }
}

extension CallSite.File {
  /// Creates the kind from the last part of a path.
  init(name: String) {
    if name.isEmpty || name.contains(".divan") {
      self = name.isEmpty ? .parentDirectory : .storeDirectory
      return
    }
    switch FileName(name) {
    case .lock: self = .lock
    case .head: self = .head
    case .flushed: self = .flushed
    case .reserve: self = .reserve
    case .check: self = .check
    case .temporaries: self = .temporaries
    case .segment(let numbers): self = numbers.count == 1 ? .segment : .merged
    case .checkpoint: self = .checkpoint
    case .view: self = .view
    case .attachments: self = .attachmentFolder
    case nil: self = .other
    }
  }
}
