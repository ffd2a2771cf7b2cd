/// Ends the process with a message unless a condition is true.
///
/// In release builds, too, the message is printed, unlike that of `precondition`. Use it for
/// mistakes in a program that uses the public API; inner paths keep `precondition`.
@inline(__always)
package func require(
  _ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> String,
  file: StaticString = #fileID, line: UInt = #line
) {
  if !condition() { refuseUse(message(), file: file, line: line) }
}

/// Ends the process because of a mistake in the program that uses the public API.
package func refuseUse(
  _ message: String, file: StaticString = #fileID, line: UInt = #line
) -> Never {
  fatalError(message, file: file, line: line)
}
