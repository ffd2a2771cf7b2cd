/// A set of properties of an index.
struct FieldSet: Hashable, Sendable {
  private var bits: UInt64

  /// All properties.
  static let all = FieldSet(bits: .max)

  private init(bits: UInt64) { self.bits = bits }

  /// The set of one property of an index that has some number of them.
  static func only(_ field: Int, of fieldCount: Int) -> FieldSet {
    // Postings of all properties need not be looked into.
    fieldCount == 1 ? .all : FieldSet([field])
  }

  init(_ fields: some Sequence<Int>) {
    bits = fields.reduce(0) { $0 | 1 << UInt64($1) }
  }

  func contains(_ field: Int) -> Bool { bits >> UInt64(field) & 1 == 1 }
  func intersection(_ other: FieldSet) -> FieldSet { FieldSet(bits: bits & other.bits) }
}
