extension Query: Equatable {
  /// Returns whether two queries have the same conditions, order, limit and offset.
  ///
  /// The conditions must have been added in the same order. Queries whose conditions are written
  /// differently are not equal, even if they match the same documents.
  public static func == (a: Query, b: Query) -> Bool { a.core == b.core }
}

extension QueryCore: Equatable {
  static func == (a: QueryCore, b: QueryCore) -> Bool {
    a.limit == b.limit && a.offset == b.offset && a.textOrder == b.textOrder
      && a.sorts == b.sorts && a.kind == b.kind && a.filter == b.filter
  }
}
