/// Text that stands safely on one line for people, on a terminal or in a log.
///
/// IDs, names and paths may hold anything. Control characters and line ends, which a terminal obeys and which begin
/// lines that nobody wrote, and marks of direction, by which text looks like other text, are spelled out as
/// Swift has them: `\u{1b}`. Everything else stays as it is. What is printable already does not change.
package func printable(_ text: String) -> String {
  // Most texts are plain, and are not copied.
  guard !text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return text }
  var safe = ""
  safe.reserveCapacity(text.utf8.count)
  for scalar in text.unicodeScalars {
    if scalar.isUnprintable {
      safe += "\\u{\(String(scalar.value, radix: 16))}"
    } else {
      safe.unicodeScalars.append(scalar)
    }
  }
  return safe
}

extension Unicode.Scalar {
  fileprivate var isUnprintable: Bool {
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    // Among them are joiners that languages and emoji need, and that stay.
    case .format: properties.isBidiControl || value == 0xFEFF || (0x206A...0x206F).contains(value)
    default: false
    }
  }
}
