import Divan

/// An actor in films.
final class Person: Model {
  @Persisted var name: String
  @Inverse(\Film.people, onDelete: .nullify) var films: [Film]

  static let prefix = "person:"
}

/// A kind of film, such as "Silent".
final class Genre: Model {
  @Persisted var name: String
  @Inverse(\Film.kinds, onDelete: .deny) var films: [Film]

  static let prefix = "genre:"
}
