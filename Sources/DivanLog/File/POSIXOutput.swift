#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#else
  import Glibc
#endif

/// The two streams that a command-line tool writes to.
package enum StandardStream: Int32, Sendable {
  case output = 1
  case error = 2
}

extension StandardStream {
  /// Writes all of `bytes`.
  ///
  /// - Throws: with the code `brokenPipe` if the reader has closed the pipe; see
  ///   ``reportClosedPipes()``.
  package func write(_ bytes: borrowing ByteWriter) throws(SystemError) {
    try unsafe bytes.withUnsafeBytes { (bytes) throws(SystemError) in
      let transfer = Transfer(call: "write", path: "\(self)", count: bytes.count)
      try transfer.runWhole { (done, count) in
        // Within the buffer, of which `done` bytes were written.
        unsafe systemWrite(
          rawValue, UnsafeRawBufferPointer(rebasing: bytes[done..<done + count]))
      }
    }
  }

  /// Whether the stream is a terminal.
  package var isTerminal: Bool { isatty(rawValue) == 1 }

  /// Makes a write to a pipe without a reader fail, where it would end the process.
  package static func reportClosedPipes() { _ = signal(SIGPIPE, SIG_IGN) }
}

extension StandardStream: CustomStringConvertible {
  package var description: String { self == .output ? "standard output" : "standard error" }
}

extension SystemError.Code {
  package static let brokenPipe = Self(rawValue: EPIPE)
}

/// Ends the process with this status.
package func endProcess(_ status: Int32) -> Never { exit(status) }

@unsafe private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  unsafe write(descriptor, bytes.baseAddress, bytes.count)
}
