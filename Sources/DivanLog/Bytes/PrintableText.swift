/// Returns text that is safe to print on one line of a terminal or a log.
///
/// IDs, names and paths may contain any character. Control characters can drive a terminal, line
/// ends can forge lines, and direction marks can make text look like other text. These are escaped
/// as in Swift: `\u{1b}`. Everything else is unchanged.
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
    // Joiners are format characters, too. Languages and emoji need them, so they are not escaped.
    case .format: properties.isBidiControl || value == 0xFEFF || (0x206A...0x206F).contains(value)
    default: false
    }
  }
}
