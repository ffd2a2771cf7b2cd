import Foundation
import Testing

/// How long the functions of the library and the programs may be.
struct FunctionLengthTests {
  private static let limit = 50

  /// A function of a file, measured from its first line to the brace that ends it.
  private struct Function {
    let name: String
    let lineCount: Int
  }

  /// Returns the functions of a file, as the formatter lays them out.
  ///
  /// A function ends at the next line that begins with a brace and is indented as its first line. A
  /// requirement of a protocol has no such line before the protocol's own brace.
  private static func functions(of text: String) -> [Function] {
    let (space, brace) = (UInt8(ascii: " "), UInt8(ascii: "}"))
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let indentations = lines.map { $0.prefix { $0 == space }.count }
    return lines.indices.compactMap { first in
      guard beginsFunction(lines[first]) else { return nil }
      let indentation = indentations[first]
      let name = String(Substring(lines[first].dropFirst(indentation)))
      if lines[first].last == brace { return Function(name: name, lineCount: 1) }
      let end = lines.indices[first...].dropFirst().first { line in
        let size = indentations[line]
        return !lines[line].isEmpty
          && (size < indentation || size == indentation && lines[line].last == brace)
      }
      guard let end, indentations[end] == indentation else { return nil }
      return Function(name: name, lineCount: end - first + 1)
    }
  }

  /// Whether a line declares a function: only attributes and modifiers are before its keyword.
  private static func beginsFunction(_ line: Substring.UTF8View) -> Bool {
    let words = line.split(separator: UInt8(ascii: " "))
    let keyword = words.firstIndex { word in
      word.elementsEqual("func".utf8) || word.elementsEqual("deinit".utf8)
        || beginnings.contains { word.starts(with: $0) }
    }
    guard let keyword else { return false }
    let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
    return words[..<keyword].allSatisfy { word in
      word.first.map { letters.contains($0) || $0 == UInt8(ascii: "@") } ?? false
    }
  }

  private static let beginnings = ["init(", "init?(", "init<", "subscript("].map { Array($0.utf8) }

  @Test func `functions have fewer than fifty lines`() {
    let files = SourceTree().files(in: "Sources")
    let all = files.flatMap { file in
      Self.functions(of: file.text).map { (file.path, $0) }
    }
    #expect(all.count > 2000)
    let long = all.filter { $0.1.lineCount >= Self.limit }
    #expect(long.isEmpty, "\(long.map { "\($0.0): \($0.1.name), \($0.1.lineCount) lines" })")
  }

  @Test func `a function is measured up to its own brace`() {
    let text = """
      extension A {
        private func b(
          _ c: Int
        ) {
          if c > 0 {
          }
        }
        init(d: Int) { e = d }
      }
      """
    #expect(Self.functions(of: text).map(\.lineCount) == [6, 1])
  }
}
