/// A source text whose code can be found regardless of comments, indentation and line breaks.
struct SourceCode {
  private var lines: [Line]

  private struct Line {
    let text: String
    /// All of the code except white space.
    let code: [UInt8]

    init(_ text: Substring) {
      self.text = String(text)
      code = Line.withoutComment(Array(text.utf8)).filter { $0 != UInt8(ascii: " ") }
    }

    /// Returns a line up to a comment that ends it.
    ///
    /// Slashes within quotes are not a comment.
    private static func withoutComment(_ line: [UInt8]) -> ArraySlice<UInt8> {
      let (slash, quote, escape) = (UInt8(ascii: "/"), UInt8(ascii: "\""), UInt8(ascii: "\\"))
      var isQuoted = false
      var index = 0
      while index < line.count {
        let next = index + 1
        switch line[index] {
        case quote: isQuoted.toggle()
        case escape where isQuoted && next < line.count:
          index = next + 1
          continue
        case slash where !isQuoted && next < line.count && line[next] == slash:
          return line[..<index]
        default: break
        }
        index = next
      }
      return line[...]
    }
  }

  init(_ text: String) { lines = SourceCode.lines(of: text) }

  private static func lines(of text: String) -> [Line] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map(Line.init)
  }

  var text: String { lines.map(\.text).joined(separator: "\n") }
}

extension SourceCode {
  /// Returns each range of whole lines whose code equals that of another text.
  func lines(with wanted: SourceCode) -> [ClosedRange<Int>] {
    let wanted = wanted.lines.flatMap(\.code)
    guard !wanted.isEmpty else { return [] }
    return lines.indices.compactMap { first in
      guard let end = end(of: wanted[...], from: first) else { return nil }
      return first...end
    }
  }

  /// Returns the line that ends some code that begins a line, if the code is there.
  private func end(of wanted: ArraySlice<UInt8>, from first: Int) -> Int? {
    guard wanted.first == lines[first].code.first else { return nil }
    var rest = wanted
    for (index, line) in lines[first...].enumerated() {
      guard rest.starts(with: line.code) else { return nil }
      rest.removeFirst(line.code.count)
      if rest.isEmpty { return first + index }
    }
    return nil
  }

  /// Returns the text with some lines replaced; the new ones are indented like the first old one.
  func replacing(_ range: ClosedRange<Int>, with text: String) -> SourceCode {
    let indentation = lines[range.lowerBound].text.prefix { $0 == " " }
    let inserted = text.split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.isEmpty ? $0 : indentation + $0 }
    // Most of a text stays as it is, and many bugs may be in one.
    var copy = self
    copy.lines.replaceSubrange(range, with: inserted.map(Line.init))
    return copy
  }
}
