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
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    return lines.indices.compactMap { first in
      let words = lines[first].split(separator: " ")
      guard
        let keyword = words.firstIndex(where: { word in
          word == "func" || word == "deinit"
            || ["init(", "init?(", "init<", "subscript("].contains { word.hasPrefix($0) }
        }), words[..<keyword].allSatisfy({ $0.first?.isLowercase ?? false || $0.hasPrefix("@") })
      else { return nil }
      let name = String(lines[first].drop { $0 == " " })
      if name.hasSuffix("}") { return Function(name: name, lineCount: 1) }
      let indentation = lines[first].count - name.count
      let end = lines[first...].dropFirst().firstIndex { line in
        let size = line.prefix { $0 == " " }.count
        return !line.isEmpty && (size < indentation || size == indentation && line.hasSuffix("}"))
      }
      guard let end, lines[end].prefix(while: { $0 == " " }).count == indentation else {
        return nil
      }
      return Function(name: name, lineCount: end - first + 1)
    }
  }

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
