import DivanLog

/// The progress of work that takes long: one line on a terminal.
///
/// The line is overwritten at each step, and removed before anything else is written.
package final class Progress {
  private let output: Output?
  private let now: () -> UInt64
  private let start: UInt64
  private var last: UInt64
  private var isShown = false

  /// Milliseconds before the first report, and between two reports.
  private static let patience: UInt64 = 1000
  private static let interval: UInt64 = 200

  /// Writes to an output that is a terminal; writes nothing if it is nil.
  package init(_ output: Output?, now: @escaping () -> UInt64 = systemTime) {
    self.output = output
    self.now = now
    start = now()
    last = start
  }

  /// Shows the current step, if enough time has passed.
  package func step(_ text: @autoclosure () -> String) {
    guard let output else { return }
    let time = now()
    guard time >= start + Progress.patience, time >= last + Progress.interval || !isShown else {
      return
    }
    last = time
    isShown = true
    // A failure to show progress is no reason to stop.
    try? output.text("\r\u{1B}[2K" + printable(text()))
    try? output.flush()
  }

  /// Removes the line.
  package func clear() {
    guard isShown, let output else { return }
    isShown = false
    try? output.text("\r\u{1B}[2K")
    try? output.flush()
  }
}
