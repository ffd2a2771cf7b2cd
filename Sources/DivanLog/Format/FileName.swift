/// The names of the files in a store's directory. FILE_FORMAT.md §1
package enum FileName: Hashable, Sendable {
  case lock
  case head
  case flushed
  case reserve
  case temporaries
  case attachments
  /// One segment, or several adjacent ones after a compaction.
  case segment(ClosedRange<UInt64>)
  case checkpoint(UInt64)
  /// The rows of a view, named by the first half of the SHA-256 of the view's name.
  case view(String)
}

extension FileName: Comparable {
  package static func < (a: FileName, b: FileName) -> Bool { a.description < b.description }
}

extension FileName: CustomStringConvertible {
  package var description: String {
    switch self {
    case .lock: "LOCK"
    case .head: "HEAD"
    case .flushed: "FLUSHED"
    case .reserve: "RESERVE"
    case .temporaries: "tmp"
    case .attachments: "attachments"
    case .segment(let numbers) where numbers.count == 1:
      "\(FileName.digits(numbers.lowerBound)).segment"
    case .segment(let numbers):
      "\(FileName.digits(numbers.lowerBound))-\(FileName.digits(numbers.upperBound)).segment"
    case .checkpoint(let number): "\(FileName.digits(number)).checkpoint"
    case .view(let digits): "\(digits).view"
    }
  }

  /// Parses a name; nil if a store has no such file.
  package init?(_ name: String) {
    switch name {
    case "LOCK": self = .lock
    case "HEAD": self = .head
    case "FLUSHED": self = .flushed
    case "RESERVE": self = .reserve
    case "tmp": self = .temporaries
    case "attachments": self = .attachments
    default:
      let parts = name.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 2 else { return nil }
      if parts[1] == "view", FileName.isDigitsOfView(parts[0]) {
        self = .view(String(parts[0]))
        return
      }
      let numbers = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        .map(FileName.number)
      switch (parts[1], numbers.count) {
      case ("segment", 1):
        guard let number = numbers[0] else { return nil }
        self = .segment(number...number)
      case ("segment", 2):
        guard let first = numbers[0], let last = numbers[1], first < last else { return nil }
        self = .segment(first...last)
      case ("checkpoint", 1):
        guard let number = numbers[0] else { return nil }
        self = .checkpoint(number)
      default: return nil
      }
    }
  }

  /// Returns the file name of a view, whose name may contain any characters.
  package static func view(named name: String) -> FileName {
    .view(of: SHA256.digest(of: SharedBytes(utf8: name)))
  }

  /// Returns the file name of a view, from the digest of its name.
  static func view(of digest: SHA256.Digest) -> FileName {
    .view(hexadecimal(digest.words.0) + hexadecimal(digest.words.1))
  }

  /// Whether a text is the name of a view's file: 32 lower-case hexadecimal digits.
  private static func isDigitsOfView(_ text: Substring) -> Bool {
    text.utf8.count == 32
      && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }

  /// Returns at least ten digits, so that names sort as numbers do.
  private static func digits(_ number: UInt64) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, 10 - digits.count)) + digits
  }

  /// Parses the output of ``digits(_:)``, and nothing else.
  private static func number(_ text: Substring) -> UInt64? {
    guard let number = UInt64(text), number > 0, number <= counterLimit, digits(number) == text
    else { return nil }
    return number
  }
}
