import DivanLog

extension CatalogKey {
  /// The key before all entries of a kind.
  static func first(of kind: Kind) -> [UInt8] { [kind.rawValue] }

  /// Converts a bound of a range of names to a bound of keys; nil if the range is unbounded there.
  static func bound(_ bound: KeyBound, of kind: Kind) -> KeyBound? {
    switch bound {
    case .unbounded: nil
    case .inclusive(let name): .inclusive([kind.rawValue] + name)
    case .exclusive(let name): .exclusive([kind.rawValue] + name)
    }
  }
}
