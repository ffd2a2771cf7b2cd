extension Model: QueryKeyed {
  static func queryKey(of path: AnyKeyPath) throws(DatabaseError) -> String? {
    try ModelKeys.key(of: path, in: self)
  }
}
