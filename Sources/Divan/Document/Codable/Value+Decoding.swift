import DivanLog

extension Value {
  /// Decodes the value as a type, by the rules of ``DocumentDecoder``.
  ///
  /// ```swift
  /// let cast = try film["cast"]?.decode([Actor].self)
  /// ```
  ///
  /// - Throws: ``DatabaseError`` with the code `mismatchedType` and the
  ///   ``DatabaseError/propertyPath`` if the value does not fit the type; any other error that
  ///   `init(from:)` throws.
  public func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let session = DecodingSession(userInfo: [:], id: nil, revision: nil)
    return try DecodingPart(session, try ValueEncoder.encode(self))
      .decodeWhole(type, hasMetadata: false, documentID: "")
  }

  /// The property `key` as a type; nil if there is none, it is null, or it does not fit the type.
  ///
  /// ```swift
  /// let year = film["release", as: Release.self]?.year ?? 0
  /// ```
  ///
  /// Numbers fit as they fit a property of the type: 2.0 is an `Int`, and 2.5 is not.
  public subscript<T: Decodable>(key: String, as type: T.Type) -> T? {
    self[key].flatMap { $0.isNull ? nil : try? $0.decode(type) }
  }
}

extension Document {
  /// The property `name` as a type; nil if there is none, it is null, or it does not fit the type.
  ///
  /// ```swift
  /// let year = film["year", as: Int.self] ?? 0
  /// ```
  ///
  /// Numbers fit as they fit a property of the type: 2.0 is an `Int`, and 2.5 is not. Use
  /// ``decode(_:)`` to find out why a value does not fit.
  public subscript<T: Decodable>(name: String, as type: T.Type) -> T? {
    self[name].flatMap { $0.isNull ? nil : try? $0.decode(type) }
  }
}
