/// A failed system call: its name, its path and the error number.
package struct SystemError: Error, Equatable, Sendable {
  package let call: String
  package let path: String
  package let code: Code

  package init(call: String, path: String, code: Code) {
    self.call = call
    self.path = path
    self.code = code
  }

  /// An error number of the system (`errno`).
  ///
  /// The named codes are defined where the C library is imported.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }
  }
}

extension SystemError {
  /// Whether a call failed, without effect, because no more files can be opened.
  package var isLackOfDescriptors: Bool {
    code == .tooManyOpenFiles || code == .tooManyOpenFilesInSystem
  }

  /// Whether a call failed because the disk or the quota is full.
  package var isLackOfSpace: Bool { code == .noSpace || code == .quotaExceeded }
}

extension SystemError: CustomStringConvertible {
  package var description: String {
    printable("\(call) \(path): \(code) (errno \(code.rawValue))")
  }
}
