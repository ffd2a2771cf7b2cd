import DivanLog

/// The options as the definition of an index stores them. FILE_FORMAT.md §10
///
/// ```
/// flags, language of stems, number of languages with stop words and each of them,
/// number of weights, and each with its path and its value
/// ```
extension FullTextOptions {
  /// The number of a language; zero is no language.
  private static func number(_ language: Language?) -> UInt8 {
    switch language {
    case nil: 0
    case .english?: 1
    case .german?: 2
    }
  }

  private static func language(_ number: UInt8, _ offset: Int) throws(ByteError) -> Language {
    guard let found = Language.allCases.first(where: { FullTextOptions.number($0) == number })
    else { throw ByteError(offset: offset, reason: "an index of text in an unknown language") }
    return found
  }

  private struct Flags: OptionSet {
    let rawValue: UInt8
    static let ignoresDiacritics = Flags(rawValue: 1)
    static let includesAttachments = Flags(rawValue: 2)
    static let known: Flags = [.ignoresDiacritics, .includesAttachments]
  }

  func encode(to writer: inout ByteWriter) {
    var flags: Flags = []
    if ignoresDiacritics { flags.insert(.ignoresDiacritics) }
    if includesAttachments { flags.insert(.includesAttachments) }
    writer.append(flags.rawValue)
    writer.append(FullTextOptions.number(stemming))
    let languages = stopWords.map(FullTextOptions.number).sorted()
    writer.appendVarint(languages.count)
    for number in languages { writer.append(number) }
    writer.appendVarint(weights.count)
    for (path, weight) in weights.sorted(by: { compareUTF8($0.key, $1.key) < 0 }) {
      let bytes = SharedBytes(utf8: path)
      writer.appendVarint(bytes.count)
      writer.append(bytes)
      writer.append(weight.bitPattern)
    }
  }

  static func decode(_ reader: inout ByteReader) throws(ByteError) -> FullTextOptions {
    var options = FullTextOptions()
    let flags = Flags(rawValue: try reader.read(UInt8.self))
    guard Flags.known.isSuperset(of: flags) else {
      throw ByteError(offset: reader.offset, reason: "an index of text with unknown flags")
    }
    options.ignoresDiacritics = flags.contains(.ignoresDiacritics)
    options.includesAttachments = flags.contains(.includesAttachments)
    let stemming = try reader.read(UInt8.self)
    if stemming > 0 { options.stemming = try language(stemming, reader.offset) }
    for _ in 0..<(try reader.readCount(limit: reader.remaining)) {
      options.stopWords.insert(try language(try reader.read(UInt8.self), reader.offset))
    }
    for _ in 0..<(try reader.readCount(limit: reader.remaining)) {
      let size = try reader.readCount(limit: reader.remaining)
      let path = try reader.readBytes(size).text
      let weight = Double(bitPattern: try reader.read(UInt64.self))
      guard let path, weight.isFinite, weight >= 0 else {
        throw ByteError(offset: reader.offset, reason: "an index of text with an invalid weight")
      }
      options.weights[path] = weight
    }
    return options
  }
}
