#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Value {
  /// Creates the stored form of a value, for comparison with stored values.
  ///
  /// - Throws: `invalidQuery` if the value cannot be stored. Numbers that are not finite are kept.
  init(queryConstant constant: some Encodable) throws(DatabaseError) {
    switch constant {
    case let value as Value: self = value
    case let text as String: self = .string(text)
    case let number as Int: self = .int(Int64(number))
    case let isSo as Bool: self = .bool(isSo)
    case let number as Double: self = .double(number)
    case let number as Float: self = .double(number.shortestDouble)
    default: self = try Value.encoding(constant)
    }
  }

  private static func encoding(_ constant: some Encodable) throws(DatabaseError) -> Value {
    do {
      let session = EncodingSession(userInfo: [:])
      let part = EncodingPart(propertyOf: session)
      try part.encodeOutermost(constant)
      if let failure = session.failure { throw failure }
      return try EncodedValue(try part.finish()).decode()
    } catch {
      throw DatabaseError(
        .invalidQuery, "a query compares with a \(type(of: constant)) that cannot be stored",
        underlying: error)
    }
  }
}
