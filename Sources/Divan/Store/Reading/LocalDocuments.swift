import DivanLog

extension CatalogKey {
  /// The key before all entries of a kind.
  static func first(of kind: Kind) -> [UInt8] { [kind.rawValue] }

  /// Converts the bound of a range of names to one of keys; nil if the range has none on that side.
  static func bound(_ bound: KeyBound, of kind: Kind) -> KeyBound? {
    switch bound {
    case .unbounded: nil
    case .inclusive(let name): .inclusive([kind.rawValue] + name)
    case .exclusive(let name): .exclusive([kind.rawValue] + name)
    }
  }
}
