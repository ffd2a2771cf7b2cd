import DivanLog

/// The order of values in the rows of views, in sorted results and in keys: one order of all values, which is the same
/// on every platform and in every release that has the same ``version``.
///
/// Null comes first, then false, true, numbers, texts, arrays, objects. Numbers are in the order of their size, whole or
/// not: `1` and `1.0` are equal. Arrays are ordered element by element, and objects property by property, first the
/// name, then the value, in the order of the bytes of the names; what ends first comes first.
///
/// Two texts are ordered by the first of these levels at which they differ:
///
/// 1. **Letters**, one after the other; what ends first comes first. Control characters are first, by number; then tab,
///    line feed, vertical tab, form feed, carriage return, space and the signs
///    ``_-,;:!?.'"()[]{}@*/\&#%`^+<=>|~$``, in this order; other signs, by number (U+00A0 to 00BF, ×, ÷, 02B0 to 02FF,
///    2000 to 2BFF, 3000 to 303F, 1F000 to 1FAFF); the digits 0 to 9; the Latin letters, the Greek ones and the Cyrillic
///    ones, each in the order `abcdðeəɛfgɣhijklmnŋoɔpqrstuvwxyzʒþƿ`, `αβγδεϝϛζηθικλμνξοπϟρστυφχψωϡ`,
///    `аәбвгґғдђѓеєжҗзѕийіїјкќқлљмњнңоөпрстћуўүұфхһцчџшщъыьэюя`, with the other letters of that script behind them, by
///    number; and at last everything else, by number. A letter with accents or a stroke counts as the letter
///    (the parts that Unicode gives it, and `øđħłŧ`), but for `ѓйќўї`, which are letters; `æœßĳǆǉǌǳ` count as two letters,
///    and `ŀ` as `l·`.
/// 2. **Marks**, that is U+0300 to 036F, letter by letter: none before any, then by number, a stroke as U+0338.
/// 3. **Forms**, letter by letter: the small one, the capital, other forms of the letter (`ıſςϐϑϕϖϰϱϵ`), letters that are
///    written for two.
/// 4. The **bytes** of their UTF-8, behind what has only one way to be written. So only the same texts are equal.
public enum Collation {
  /// The number of this order, which rises whenever any two values change places.
  ///
  /// What is kept in this order has it beside it, and is made anew when it differs.
  public static let version = 1

  /// Whether one value comes before another one.
  public static func precedes(_ a: Value, _ b: Value) -> Bool { compare(a, b) < 0 }

  /// Whether one text comes before another one.
  public static func precedes(_ a: String, _ b: String) -> Bool { CollationText.compare(a, b) < 0 }

  /// How two values are ordered: below, at or above zero.
  static func compare(_ a: Value, _ b: Value) -> Int {
    if case .string(let a) = a, case .string(let b) = b { return CollationText.compare(a, b) }
    if let a = CollationKey.Number(a), let b = CollationKey.Number(b) { return a.compare(b) }
    let (one, other) = (CollationKey.tag(of: a), CollationKey.tag(of: b))
    if one != other { return Int(one) - Int(other) }
    // Of values that may be as deep as they like only the walk into bytes does not recurse.
    return DivanLog.compare(key(of: a).span, key(of: b).span)
  }

  /// How two values in their stored form are ordered; of texts nothing is copied.
  static func compare(_ a: EncodedValue, _ b: EncodedValue) throws(DatabaseError) -> Int {
    let texts = a.bytes.withSpan { a in
      b.bytes.withSpan { b -> Int? in
        guard let one = ValueFormat.text(a, 0..<a.count),
          let other = ValueFormat.text(b, 0..<b.count)
        else { return nil }
        return CollationText.compare(a.extracting(one), b.extracting(other))
      }
    }
    if let texts { return texts }
    if let a = a.int, let b = b.int { return a < b ? -1 : a == b ? 0 : 1 }
    // Kept apart: the compiler of 6.3.1 makes wrong code of both in one expression that may throw.
    let one = try key(of: a)
    let other = try key(of: b)
    return DivanLog.compare(one.span, other.span)
  }

  /// Bytes whose order is the order of values.
  static func key(of value: Value) -> [UInt8] { CollationKey.bytes(of: value, .collated) }

  /// The same of a value in its stored form.
  static func key(of value: EncodedValue) throws(DatabaseError) -> [UInt8] {
    try CollationKey.bytes(of: value, .collated)
  }
}
