public import Foundation
import Synchronization

/// Writes lines to a file, a pipe or a terminal, and goes on if that fails.
///
/// ```swift
/// let output = LineOutput(.standardOutput)
/// output.write("Listening at 127.0.0.1:5984.")
/// ```
///
/// A full disk is no reason for a server to end. The next line that can be written says how many
/// were lost.
public final class LineOutput: Sendable {
  private let send: @Sendable (Data) throws -> Void
  private let lost = Mutex(0)

  /// Creates an output.
  public convenience init(_ file: FileHandle) {
    // Without `contentsOf`, an error ends the process.
    self.init { try file.write(contentsOf: $0) }
  }

  init(_ send: @escaping @Sendable (Data) throws -> Void) { self.send = send }

  /// The number of lines that were lost since one could be written.
  public var lostCount: Int { lost.withLock { $0 } }

  /// Writes a line at once, also if the output is a file.
  ///
  /// A line of which only a part could be written counts as lost.
  public func write(_ line: String) {
    lost.withLock { lost in
      let before = lost > 0 ? "\(lost) \(lost == 1 ? "line was" : "lines were") lost.\n" : ""
      do {
        try send(Data((before + line + "\n").utf8))
        lost = 0
      } catch {
        lost += 1
      }
    }
  }
}
