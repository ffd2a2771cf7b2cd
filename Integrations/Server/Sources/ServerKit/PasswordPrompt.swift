import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Where the password of a new user comes from.
public enum PasswordPrompt {
  /// Returns the password in the environment variable `DIVAN_PASSWORD`, or asks for it.
  ///
  /// What is typed in a terminal is not shown. Another input gives its first line.
  public static func read() -> String? {
    if let password = ProcessInfo.processInfo.environment["DIVAN_PASSWORD"] { return password }
    guard isatty(STDIN_FILENO) == 1 else { return readLine() }
    var shown = termios()
    guard unsafe tcgetattr(STDIN_FILENO, &shown) == 0 else { return readLine() }
    var hidden = shown
    hidden.c_lflag &= ~tcflag_t(ECHO)
    unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
    defer {
      unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown)
      show("\n")
    }
    show("Password: ")
    return readLine()
  }

  /// Writes to the terminal, if that is possible.
  private static func show(_ text: String) {
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
  }
}
