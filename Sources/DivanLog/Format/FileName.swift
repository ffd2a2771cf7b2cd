/// The names of the files in a store's directory. FILE_FORMAT.md §1
package enum FileName: Hashable, Sendable {
  case lock
  case head
  case flushed
  case reserve
  /// Has the next opening check the inner pages of the index.
  case check
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
    case .check: "CHECK"
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
    case "CHECK": self = .check
    case "tmp": self = .temporaries
    case "attachments": self = .attachments
    default:
      let bytes = name.utf8
      guard let dot = bytes.firstIndex(of: UInt8(ascii: ".")) else { return nil }
      let stem = bytes[..<dot]
      switch name[bytes.index(after: dot)...] {
      case "view":
        guard FileName.isDigitsOfView(stem) else { return nil }
        self = .view(String(name[..<dot]))
      case "segment":
        guard let dash = stem.firstIndex(of: UInt8(ascii: "-")) else {
          guard let number = FileName.number(stem) else { return nil }
          self = .segment(number...number)
          return
        }
        guard let first = FileName.number(stem[..<dash]),
          let last = FileName.number(stem[stem.index(after: dash)...]), first < last
        else { return nil }
        self = .segment(first...last)
      case "checkpoint":
        guard let number = FileName.number(stem) else { return nil }
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
  private static func isDigitsOfView(_ text: Substring.UTF8View) -> Bool {
    text.count == 32
      && text.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }

  /// The minimum number of digits, so that names sort as numbers do.
  private static let digitCount = 10

  private static func digits(_ number: UInt64) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, digitCount - digits.utf8.count)) + digits
  }

  /// Parses the output of ``digits(_:)``, and nothing else.
  private static func number(_ text: Substring.UTF8View) -> UInt64? {
    // Zeros lead only up to the minimum number of digits.
    guard text.count >= digitCount, text.count == digitCount || text.first != UInt8(ascii: "0")
    else { return nil }
    var number: UInt64 = 0
    for digit in text {
      guard (0x30...0x39).contains(digit) else { return nil }
      number = number * 10 + UInt64(digit - 0x30)
      // Ten times the limit does not overflow.
      guard number <= counterLimit else { return nil }
    }
    return number > 0 ? number : nil
  }
}
