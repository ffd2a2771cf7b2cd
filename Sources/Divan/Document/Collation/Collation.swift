import DivanLog

/// The order of values in the rows of views, in sorted results and in keys.
///
/// ```swift
/// let titles = ["Zorro", "élan", "Eden"]
/// let sorted = titles.sorted { Collation.precedes($0, $1) }  // Eden, élan, Zorro
/// ```
///
/// It is one order of all values, the same on every platform and in every release that has the same
/// ``version``.
///
/// Null comes first, then false, true, numbers, texts, arrays, objects. Numbers are ordered by
/// their size, whole or not: `1` and `1.0` are equal. Arrays are ordered element by element, and
/// objects property by property, first by the name, then by the value, in the order of the bytes of
/// the names; a prefix comes first.
///
/// Two texts are ordered by the first of these levels at which they differ:
///
/// 1. **Letters**, in order; a prefix comes first. Their order is: control characters (U+0000 to
///    001F and 007F to 009F) by number; tab, line feed, vertical tab, form feed, carriage return,
///    space and `_-,;:!?.'"()[]{}@*/\&#%`, the grave accent, `^+<=>|~$`; other signs by number
///    (U+00A0 to 00BF, 00D7, 00F7, 02B0 to 02FF, 2000 to 2BFF, 3000 to 303F, 1F000 to 1FAFF); the
///    digits 0 to 9; Latin letters `abcdðeəɛfgɣhijklmnŋoɔpqrstuvwxyzʒþƿ` and other ones by number
///    (U+00C0 to 02AF, 1E00 to 1EFF, 2C60 to 2C7F, A720 to A7FF, AB30 to AB6F); Greek letters
///    `αβγδεϝϛζηθικλμνξοπϟρστυφχψωϡ` and other ones by number (U+0370 to 03FF, 1F00 to 1FFF);
///    Cyrillic letters `аәбвгґғдђѓеєжҗзѕийіїјкќқлљмњнңоөпрстћуўүұфхһцчџшщъыьэюя` and other ones by
///    number (U+0400 to 052F, 1C80 to 1C8F, 2DE0 to 2DFF, A640 to A69F); everything else by number.
///
///    In U+0041 to 005A, 00C0 to 052F and 1E00 to 1FFF, capitals count as their small letters, and
///    letters with accents as their Unicode 14 decompositions, except for `ѓйќўї`, which remain
///    letters; `øđħłŧ` count as letters with a stroke, `ıſςϐϑϕϖϰϱϵ` as `isσβθφπκρε`, `æœßĳǆǉǌǳ` as
///    two letters and `ŀ` as `l·`.
/// 2. **Marks**, that is U+0300 to 036F and the marks in single scalars that include some, letter
///    by letter: none before any, then by number, the marks of one letter sorted. A stroke is
///    U+0338.
/// 3. **Forms**, letter by letter: small, capital, another form of it (the small one first), one of
///    two letters that are written as one.
/// 4. The **bytes** of their UTF-8; before them come texts in which each scalar is the only one, or
///    the first, with its letters, marks and form. So only identical texts are equal.
public enum Collation {
  /// The version of this order, which is incremented whenever the order of any two values changes.
  ///
  /// Data in this order is stored with the version, and is rebuilt when the version differs.
  public static let version = 1

  /// Returns whether one value comes before another.
  public static func precedes(_ a: Value, _ b: Value) -> Bool { compare(a, b) < 0 }

  /// Returns whether one text comes before another.
  public static func precedes(_ a: String, _ b: String) -> Bool { CollationText.compare(a, b) < 0 }

  /// Returns the order of two values: below, at or above zero.
  static func compare(_ a: Value, _ b: Value) -> Int {
    if case .string(let a) = a, case .string(let b) = b { return CollationText.compare(a, b) }
    if let a = CollationKey.Number(a), let b = CollationKey.Number(b) { return a.compare(b) }
    let (one, other) = (CollationKey.tag(of: a), CollationKey.tag(of: b))
    if one != other { return Int(one) - Int(other) }
    // Values may be arbitrarily deep, and only the conversion to bytes does not recurse.
    return DivanLog.compare(key(of: a).span, key(of: b).span)
  }

  /// Returns bytes whose order is the order of values.
  static func key(of value: Value) -> [UInt8] { CollationKey.bytes(of: value, .collated) }

  /// Returns such bytes for a value in its stored form.
  static func key(of value: EncodedValue) throws(DatabaseError) -> [UInt8] {
    try CollationKey.bytes(of: value, .collated)
  }

  /// Returns the order of the bytes of two keys.
  static func compare(keys a: [UInt8], _ b: [UInt8]) -> Int { DivanLog.compare(a.span, b.span) }
}
