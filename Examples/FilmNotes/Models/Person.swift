import Divan

/// Someone who directs films, or plays in films and series.
///
/// A person stores no list of films. The inverses find them by the references that the works store.
/// If a person is deleted, the rule `nullify` removes these references.
final class Person: Model {
  @Persisted(index: .value) var name: String
  @Inverse(\Film.director, onDelete: .nullify) var directed: [Film]
  @Inverse(\Work.cast, onDelete: .nullify) var appearances: [Work]

  override func validate(_ validation: inout ModelValidation) {
    validation.require(!name.isEmpty, "a person has a name", property: "name")
  }

  /// The ID of the person with a name.
  ///
  /// The ID is made from the name, so that each import finds the same person.
  static func id(named name: String) -> String { "person:" + name }
}

extension ModelContext {
  /// Returns the person with a name, who is new and unsaved if there is none.
  func person(named name: String) throws -> Person {
    let id = Person.id(named: name)
    if let known = try model(Person.self, id: id) { return known }
    let person = Person(in: self, id: id)
    person.name = name
    return person
  }
}
