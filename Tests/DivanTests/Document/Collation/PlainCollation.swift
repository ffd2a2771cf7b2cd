import Foundation

@testable import Divan

/// A plain implementation of the order that `Collation` promises.
///
/// Each text becomes lists of numbers, made with the decompositions and the lowercase mapping of
/// Foundation and the standard library.
struct PlainText: Comparable {
  var letters: [[UInt32]] = []
  /// The marks of each letter, preceded by those without a letter.
  var marks: [[UInt32]] = [[]]
  var forms: [Int] = []
  var bytes: [UInt8]
  /// Nil if no other text of single scalars has the same letters, marks and forms.
  var spelling: [UInt8]?

  static let alphabets = [
    "\t\n\u{B}\u{C}\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$", "0123456789",
    "abcdðeəɛfgɣhijklmnŋoɔpqrstuvwxyzʒþƿ", "αβγδεϝϛζηθικλμνξοπϟρστυφχψωϡ",
    "аәбвгґғдђѓеєжҗзѕийіїјкќқлљмњнңоөпрстћуўүұфхһцчџшщъыьэюя",
  ].map { Array($0.unicodeScalars).map(\.value) }

  private static let variants: [UInt32: UInt32] = dictionary("ıiſsςσϐβϑθϕφϖπϰκϱρϵε")
  private static let strokes: [UInt32: UInt32] = dictionary("ØOøoĐDđdĦHħhŁLłlŦTŧt")
  private static let pairs: [UInt32: [UInt32]] = {
    var pairs: [UInt32: [UInt32]] = [:]
    for word
      in "æae ÆAE œoe ŒOE ßss ẞSS ĳij ĲIJ ŀl· ĿL· ǆdž ǅDž ǄDŽ ǉlj ǈLj ǇLJ ǌnj ǋNj ǊNJ ǳdz ǲDz ǱDZ"
      .split(separator: " ")
    {
      let scalars = word.unicodeScalars.map(\.value)
      pairs[scalars[0]] = Array(scalars[1...])
    }
    return pairs
  }()

  private static func dictionary(_ text: String) -> [UInt32: UInt32] {
    let scalars = text.unicodeScalars.map(\.value)
    return Dictionary(
      uniqueKeysWithValues: stride(from: 0, to: scalars.count, by: 2).map {
        (scalars[$0], scalars[$0 + 1])
      })
  }

  private static let joined: [[UInt32]: UInt32] = {
    var joined: [[UInt32]: UInt32] = [:]
    for scalar in "ѓќйїў".unicodeScalars {
      let parts = String(scalar).decomposedStringWithCanonicalMapping.unicodeScalars.map(\.value)
      joined[parts] = scalar.value
    }
    return joined
  }()

  init(_ text: String) {
    bytes = Array(text.utf8)
    var isPlain = true
    for scalar in text.unicodeScalars {
      if Self.isMark(scalar.value) || Self.isTwin(scalar) { isPlain = false }
      add(scalar.value, 0)
    }
    for (index, unsorted) in marks.enumerated() {
      marks[index] = unsorted.sorted()
      guard index > 0, letters[index - 1].count == 3 else { continue }
      let base = letters[index - 1][2]
      for (position, mark) in marks[index].enumerated() {
        guard let whole = Self.joined[[base, mark]] else { continue }
        letters[index - 1] = Self.position(whole)
        marks[index].remove(at: position)
        break
      }
    }
    spelling = isPlain ? nil : bytes
  }

  private static func isMark(_ scalar: UInt32) -> Bool { 0x300...0x36F ~= scalar }

  /// Whether another scalar has the same letters, marks and forms, and sorts first.
  private static func isTwin(_ scalar: Unicode.Scalar) -> Bool {
    let isSpelledOtherwise =
      isInTable(scalar.value)
      && String(scalar).precomposedStringWithCanonicalMapping.unicodeScalars.elementsEqual([scalar])
        == false
    // The scalars with the same marks in the other order sort first, and so does the capital theta.
    return isSpelledOtherwise || [0x1E7A, 0x1E7B, 0x3F4].contains(scalar.value)
  }

  private static func isInTable(_ scalar: UInt32) -> Bool {
    0xC0...0x52F ~= scalar || 0x1E00...0x1FFF ~= scalar
  }

  private mutating func add(_ scalar: UInt32, _ form: Int) {
    guard let value = Unicode.Scalar(scalar) else { return }
    if Self.isMark(scalar) {
      let parts = String(value).decomposedStringWithCanonicalMapping.unicodeScalars.map(\.value)
      marks[marks.count - 1] += parts
      return
    }
    if Self.isInTable(scalar) {
      let parts = String(value).decomposedStringWithCanonicalMapping.unicodeScalars.map(\.value)
      if parts != [scalar] {
        for part in parts { add(part, form) }
        return
      }
    }
    if let pair = Self.pairs[scalar] {
      for part in pair { add(part, form + 4) }
      return
    }
    if let plain = Self.strokes[scalar] {
      add(plain, form)
      marks[marks.count - 1].append(0x338)
      return
    }
    if let plain = Self.variants[scalar] {
      add(plain, form + 2)
      return
    }
    let lower = value.properties.lowercaseMapping.unicodeScalars.map(\.value)
    let isCapital =
      scalar < 0x80 || Self.isInTable(scalar) ? lower.count == 1 && lower != [scalar] : false
    letters.append(Self.position(isCapital ? lower[0] : scalar))
    forms.append(form + (isCapital ? 1 : 0))
    marks.append([])
  }

  /// Returns the group of a letter, its number in the group, and its scalar.
  private static func position(_ scalar: UInt32) -> [UInt32] {
    for (index, alphabet) in alphabets.enumerated() {
      guard let position = alphabet.firstIndex(of: scalar) else { continue }
      return [UInt32([1, 3, 4, 6, 8][index]), UInt32(position), scalar]
    }
    let group: UInt32 =
      switch scalar {
      case 0x00...0x1F, 0x7F...0x9F: 0
      case 0xA0...0xBF, 0xD7, 0xF7, 0x2B0...0x2FF, 0x2000...0x2BFF, 0x3000...0x303F,
        0x1F000...0x1FAFF:
        2
      case 0xC0...0x2AF, 0x1E00...0x1EFF, 0x2C60...0x2C7F, 0xA720...0xA7FF, 0xAB30...0xAB6F: 5
      case 0x370...0x3FF, 0x1F00...0x1FFF: 7
      case 0x400...0x52F, 0x1C80...0x1C8F, 0x2DE0...0x2DFF, 0xA640...0xA69F: 9
      default: 10
      }
    return [group, scalar, scalar]
  }

  static func == (a: Self, b: Self) -> Bool { a.bytes == b.bytes }

  static func < (a: Self, b: Self) -> Bool {
    if a.letters != b.letters { return precedes(a.letters, b.letters) }
    if a.marks != b.marks { return precedes(a.marks, b.marks) }
    if a.forms != b.forms { return a.forms.lexicographicallyPrecedes(b.forms) }
    switch (a.spelling, b.spelling) {
    case (nil, nil): return false
    case (nil, _): return true
    case (_, nil): return false
    case (let a?, let b?): return a.lexicographicallyPrecedes(b)
    }
  }

  private static func precedes(_ a: [[UInt32]], _ b: [[UInt32]]) -> Bool {
    a.lexicographicallyPrecedes(b) { $0.lexicographicallyPrecedes($1) }
  }
}

/// The same order for values.
enum PlainCollation {
  private static func rank(_ value: Value) -> Int {
    switch value {
    case .null: 0
    case .bool(let isSo): isSo ? 2 : 1
    case .int, .unsigned, .double: 3
    case .string: 4
    case .array: 5
    case .object: 6
    }
  }

  /// Returns a number below, at or above zero.
  static func compare(_ a: Value, _ b: Value) -> Int {
    switch (a, b) {
    case (.string(let a), .string(let b)):
      let (one, other) = (PlainText(a), PlainText(b))
      return one < other ? -1 : one == other ? 0 : 1
    case (.array(let a), .array(let b)):
      for (one, other) in zip(a, b) {
        let order = compare(one, other)
        if order != 0 { return order }
      }
      return a.count - b.count
    case (.object(let a), .object(let b)):
      for (one, other) in zip(a, b) {
        let names = compare(.string(one.key), .string(other.key))
        if names != 0 { return names }
        let values = compare(one.value, other.value)
        if values != 0 { return values }
      }
      return a.count - b.count
    default:
      if rank(a) != rank(b) || rank(a) != 3 { return rank(a) - rank(b) }
      return compare(number: a, b)
    }
  }

  private static func compare(number a: Value, _ b: Value) -> Int {
    func whole(_ value: Value) -> Int128? {
      switch value {
      case .int(let number): Int128(number)
      case .unsigned(let number): Int128(number)
      case .double(let number): Int128(exactly: number)
      default: nil
      }
    }
    if let one = whole(a), let other = whole(b) { return one < other ? -1 : one == other ? 0 : 1 }
    // One of them has a fraction, or is beyond all integers.
    let (one, other) = (a.doubleValue ?? 0, b.doubleValue ?? 0)
    return one < other ? -1 : one == other ? 0 : 1
  }
}
