/// The files of a store in one sequence of bytes, as the input of a fuzzer.
///
/// For each file: its kind, two numbers and its size in three bytes; then its bytes. Any sequence
/// represents some files.
package enum PackedStore {
  package struct File: Equatable, Sendable {
    package var name: String
    package var bytes: [UInt8]
  }

  private static let headSize = 6

  package static func unpack(_ input: [UInt8]) -> [File] {
    var files: [File] = []
    var position = 0
    while input.count - position >= headSize, files.count < 32 {
      let head = Array(input[position..<position + headSize])
      position += headSize
      let size = Int(head[3]) | Int(head[4]) << 8 | Int(head[5]) << 16
      let end = min(input.count, position + size)
      files.append(File(name: name(head), bytes: Array(input[position..<end])))
      position = end
    }
    return files
  }

  package static func pack(_ files: [File]) -> [UInt8] {
    files.reduce(into: []) { packed, file in
      let size = min(file.bytes.count, 0xFF_FFFF)
      packed += head(file.name)
      packed += [UInt8(size & 0xFF), UInt8(size >> 8 & 0xFF), UInt8(size >> 16)]
      packed += file.bytes.prefix(size)
    }
  }

  private static let others = ["RESERVE", "LOCK", "notes.txt", "FLUSHED"]

  private static func name(_ head: [UInt8]) -> String {
    let first = max(1, Int(head[1]))
    let last = first + 1 + Int(head[2])
    return switch head[0] % 5 {
    case 0: "HEAD"
    case 1: "\(digits(first)).segment"
    case 2: "\(digits(first))-\(digits(last)).segment"
    case 3: "\(digits(first)).checkpoint"
    default: others[Int(head[1]) % others.count]
    }
  }

  private static func head(_ name: String) -> [UInt8] {
    if let index = others.firstIndex(of: name) { return [4, UInt8(index), 0] }
    let parts = name.split(separator: ".")
    let numbers = parts[0].split(separator: "-").compactMap { Int($0) }
    guard parts.count == 2, let first = numbers.first, let last = numbers.last else {
      return [0, 0, 0]
    }
    if parts[1] == "checkpoint" { return [3, UInt8(clamping: first), 0] }
    return first == last
      ? [1, UInt8(clamping: first), 0]
      : [2, UInt8(clamping: first), UInt8(clamping: last - first - 1)]
  }

  private static func digits(_ number: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, 10 - digits.count)) + digits
  }
}
