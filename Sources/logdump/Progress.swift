import DivanLog

/// What work that takes long says of how far it is: one line on a terminal, which is written over, and gone before
/// anything else is written.
package final class Progress {
  private let output: Output?
  private let now: () -> UInt64
  private let start: UInt64
  private var last: UInt64
  private var isShown = false

  /// Milliseconds before anything is said, and between two words.
  private static let patience: UInt64 = 1000
  private static let interval: UInt64 = 200

  /// Says it on an output that is a terminal's; nothing if that is nil.
  package init(_ output: Output?, now: @escaping () -> UInt64 = systemTime) {
    self.output = output
    self.now = now
    start = now()
    last = start
  }

  /// Says what is being done, if it is time to say something.
  package func step(_ text: @autoclosure () -> String) {
    guard let output else { return }
    let time = now()
    guard time >= start + Progress.patience, time >= last + Progress.interval || !isShown else {
      return
    }
    last = time
    isShown = true
    // What is only for the eye is no reason to stop.
    try? output.text("\r\u{1B}[2K" + printable(text()))
    try? output.flush()
  }

  /// Takes the line away.
  package func clear() {
    guard isShown, let output else { return }
    isShown = false
    try? output.text("\r\u{1B}[2K")
    try? output.flush()
  }
}
