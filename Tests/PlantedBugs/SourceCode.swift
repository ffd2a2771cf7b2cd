/// A source text whose code can be found regardless of comments, indentation and line breaks.
struct SourceCode {
  private let lines: [Substring]
  /// All of the code except white space.
  private var code: [UInt8] = []
  /// The line of each byte of ``code``.
  private var lineNumbers: [Int] = []

  init(_ text: String) {
    lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    for (number, line) in lines.enumerated() {
      for byte in SourceCode.withoutComment(line.utf8) where byte != UInt8(ascii: " ") {
        code.append(byte)
        lineNumbers.append(number)
      }
    }
  }

  var text: String { lines.joined(separator: "\n") }

  /// Returns a line up to a comment that ends it.
  ///
  /// Slashes within quotes are not a comment.
  private static func withoutComment(_ line: Substring.UTF8View) -> Substring.UTF8View {
    let (slash, quote, escape) = (UInt8(ascii: "/"), UInt8(ascii: "\""), UInt8(ascii: "\\"))
    var isQuoted = false
    var index = line.startIndex
    while index < line.endIndex {
      let next = line.index(after: index)
      switch line[index] {
      case quote: isQuoted.toggle()
      case escape where isQuoted && next < line.endIndex:
        index = line.index(after: next)
        continue
      case slash where !isQuoted && next < line.endIndex && line[next] == slash:
        return line[..<index]
      default: break
      }
      index = next
    }
    return line
  }
}

extension SourceCode {
  /// Returns each range of whole lines whose code equals that of another text.
  func lines(with wanted: SourceCode) -> [ClosedRange<Int>] {
    let wanted = wanted.code
    guard let first = wanted.first, wanted.count <= code.count else { return [] }
    return (0...code.count - wanted.count).compactMap { start in
      let end = start + wanted.count
      guard code[start] == first,
        start == 0 || lineNumbers[start - 1] < lineNumbers[start],
        end == code.count || lineNumbers[end - 1] < lineNumbers[end],
        code[start..<end].elementsEqual(wanted)
      else { return nil }
      return lineNumbers[start]...lineNumbers[end - 1]
    }
  }

  /// Returns the text with some lines replaced; the new ones are indented like the first old one.
  func replacing(_ range: ClosedRange<Int>, with text: String) -> SourceCode {
    let indentation = lines[range.lowerBound].prefix { $0 == " " }
    let inserted = text.split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.isEmpty ? $0 : indentation + $0 }
    return SourceCode(
      (lines[..<range.lowerBound] + inserted + lines[(range.upperBound + 1)...])
        .joined(separator: "\n"))
  }
}
