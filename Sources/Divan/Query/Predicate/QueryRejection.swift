/// The reason why something cannot be queried.
///
/// It is an object, because hardly any query has one, and all parts of queries are copied.
final class QueryRejection: Sendable {
  let error: DatabaseError

  init(_ error: DatabaseError) { self.error = error }
}
