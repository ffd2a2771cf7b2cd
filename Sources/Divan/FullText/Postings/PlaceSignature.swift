/// A summary of the places of a term in a document: a bit for each, which several can share.
///
/// The bit of a place is its position modulo 64, moved by its property. So two terms are at one
/// place only if their signatures have a bit in common. In texts of up to some dozens of words they
/// mostly have none, and then the places need not be compared.
struct PlaceSignature: Equatable, Sendable {
  private var bits: UInt64 = 0

  /// The signature of unknown places.
  static let any = PlaceSignature(bits: .max)

  /// Creates the signature of no place.
  init() {}

  private init(bits: UInt64) { self.bits = bits }

  mutating func insert(field: Int, position: UInt64) {
    // Properties begin at different bits, so that their first words differ.
    bits |= 1 &<< (position &+ UInt64(field) &* 23)
  }

  /// The signature of the places that are some words before these.
  func moved(back distance: Int) -> PlaceSignature {
    let shift = UInt64(distance) & 63
    return PlaceSignature(bits: bits &>> shift | bits &<< (64 &- shift))
  }

  /// Whether there is no place.
  var isEmpty: Bool { bits == 0 }

  /// Keeps the places that can be in another signature, too.
  mutating func formIntersection(_ other: PlaceSignature) { bits &= other.bits }
}
