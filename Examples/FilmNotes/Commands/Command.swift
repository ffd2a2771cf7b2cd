import Foundation

/// A command as the user typed it: its name, its words and its options.
struct Command {
  let name: String
  private(set) var words: [String] = []
  private var options: [String: [String]] = [:]

  /// Reads a command, whose form is in the table of commands.
  init(_ arguments: [String]) throws(UsageError) {
    guard let name = arguments.first, let form = CommandForm.all.first(where: { $0.name == name })
    else {
      throw UsageError("there is no command \(arguments.first ?? ""); `help` lists all")
    }
    self.name = name
    var rest = arguments.dropFirst().makeIterator()
    while let word = rest.next() {
      guard word.hasPrefix("--") else {
        words.append(word)
        continue
      }
      let option = String(word.dropFirst(2))
      if form.flags.contains(option) {
        options[option] = []
      } else if form.options.contains(option), let value = rest.next() {
        options[option, default: []].append(value)
      } else {
        throw UsageError("wrong option \(word)", form)
      }
    }
    guard form.wordCount.contains(words.count) else {
      throw UsageError(
        words.count < form.wordCount.lowerBound ? "too few words" : "too many words", form)
    }
  }

  func has(_ option: String) -> Bool { options[option] != nil }

  func values(_ option: String) -> [String] { options[option] ?? [] }

  func value(_ option: String) -> String? { options[option]?.last }

  /// The value of an option that is a number; nil if the option is not given.
  func number<N: LosslessStringConvertible>(_ option: String, _ type: N.Type = N.self)
    throws(UsageError) -> N?
  {
    try value(option).map { text throws(UsageError) in try Command.number(text) }
  }

  static func number<N: LosslessStringConvertible>(_ text: String) throws(UsageError) -> N {
    guard let number = N(text) else { throw UsageError("\(text) is not a number") }
    return number
  }

  /// The value of an option that is a date; nil if the option is not given.
  func date(_ option: String) throws(UsageError) -> Date? {
    guard let text = value(option) else { return nil }
    guard let date = try? Note.dayFormat.parse(text) else {
      throw UsageError("\(text) is not a date such as 2026-09-01")
    }
    return date
  }
}

extension Command {
  /// Splits a line into words.
  ///
  /// Quotation marks enclose a word with spaces.
  static func split(_ line: String) throws(UsageError) -> [String] {
    var words: [String] = []
    var isQuoted = false
    var isWord = false
    for letter in line {
      if letter == "\"" {
        isQuoted.toggle()
        if !isWord { words.append("") }
        isWord = true
      } else if letter.isWhitespace, !isQuoted {
        isWord = false
      } else {
        if !isWord { words.append("") }
        isWord = true
        words[words.count - 1].append(letter)
      }
    }
    guard !isQuoted else { throw UsageError("a quotation mark is missing at the end") }
    return words
  }
}

/// A mistake in how the program was called.
///
/// Its exit status is 64, as `sysexits.h` has it.
struct UsageError: Error, CustomStringConvertible {
  let description: String

  init(_ message: String, _ form: CommandForm? = nil) {
    description = form.map { "\(message). Type: \($0.usage)" } ?? message
  }
}
