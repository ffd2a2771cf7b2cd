import Divan
import Observation
import ProofKit
import TestSupport
import Testing

/// Tests of models that refer to models of another database.
struct ModelDatabasesTests {
  private let peopleDatabase: Database
  private let filmDatabase: Database
  private let people: ModelContext
  private let films: ModelContext

  init() throws {
    peopleDatabase = try Database.inMemory()
    filmDatabase = try Database.inMemory()
    people = peopleDatabase.makeContext()
    films = filmDatabase.makeContext()
    films.resolveReferences(to: Human.self, in: people)
    people.resolveReferences(to: Picture.self, in: films)
  }

  private class Human: Model {
    @Persisted var name: String
    @Inverse(\Picture.cast) var pictures: [Picture]
    override class var documentType: String? { nil }
  }

  private final class Actor: Human {}

  private final class Picture: Model {
    @Persisted var director: Human?
    @Persisted var star: Actor?
    @Persisted var cast: [Human]
    @Persisted var sequel: Picture?
    @Inverse(\Picture.sequel) var prequels: [Picture]
    override class var documentType: String? { nil }
  }

  private final class Keeper: Model {
    @Persisted(onDelete: .cascade) var kept: Human?
    override class var documentType: String? { nil }
  }

  private final class Denier: Model {
    @Inverse(\Picture.director, onDelete: .deny) var pictures: [Picture]
    override class var documentType: String? { nil }
  }

  private func human(_ id: String) throws -> Human {
    let human = Human(in: people, id: id)
    human.name = id
    try human.save()
    return human
  }

  @Test func `a reference into another database is stored as an ID and returns that object`() throws
  {
    let lang = try human("lang")
    // A film and a person with the same ID are different models.
    let m = Picture(in: films, id: "m")
    let other = try human("m")
    (m.director, m.cast, m.sequel) = (other, [lang, other], m)
    try films.save()
    #expect(m.director === other && m.cast == [lang, other] && m.sequel === m)
    #expect(try filmDatabase.json("m") == #"{"cast":["lang","m"],"director":"m","sequel":"m"}"#)
    #expect(try peopleDatabase.snapshot().count == 2 && filmDatabase.snapshot().count == 1)
    m.cast.removeFirst()
    #expect(m.cast == [other] && m.changedProperties == ["cast"])

    let otherFilms = filmDatabase.makeContext()
    #expect(try otherFilms.model(Picture.self, id: "m")?.director == nil)
    let again = peopleDatabase.makeContext()
    otherFilms.resolveReferences(to: Human.self, in: again)
    #expect(try otherFilms.model(Picture.self, id: "m")?.director?.name == "m")
    #expect(
      try otherFilms.model(Picture.self, id: "m")?.director === again.model(Human.self, id: "m"))
  }

  @Test func `a subclass uses the context of its superclass unless it has its own`() throws {
    let m = Picture(in: films)
    m.star = Actor(in: people, id: "a")
    #expect(m.star?.context === people)
    let stars = peopleDatabase.makeContext()
    films.resolveReferences(to: Actor.self, in: stars)
    #expect(m.star == nil)
    try people.save()
    try stars.refresh()
    #expect(m.star?.context === stars)
    films.resolveReferences(to: Actor.self, in: nil)
    #expect(m.star?.context === people)
  }

  @Test func `a model without a context joins the context of its class and is saved there`() throws
  {
    let m = Picture()
    m.director = Human()
    try films.insert(m)
    m.cast = [Human()]
    #expect(m.director?.context === people && m.cast.allSatisfy { $0.context === people })
    try films.save()
    #expect(try peopleDatabase.snapshot().count == 0 && filmDatabase.snapshot().count == 1)
    #expect(people.unsavedModels.count == 2 && m.director?.isNew == true)
    try people.save()
    #expect(try peopleDatabase.snapshot().count == 2)
  }

  @Test(arguments: [false, true])
  func `an inverse finds saved and unsaved models of another database`(withIndex: Bool) throws {
    if withIndex { try filmDatabase.addIndexes(for: Human.self) }
    let lang = try human("lang")
    let m = Picture(in: films, id: "m")
    #expect(lang.pictures.isEmpty)
    m.cast = [lang]
    #expect(lang.pictures == [m])
    try films.save()
    #expect(lang.pictures == [m])
    m.cast = []
    #expect(lang.pictures.isEmpty)
  }

  @Test func `observers of inverses distinguish models with one ID in two databases`() throws {
    let human = try human("m")
    var picture: Picture? = Picture(in: films, id: "m")
    let other = Picture(in: films, id: "n")
    /// Returns whether the observer of `first` is notified if `second` is observed after it.
    func isNotified(
      observing first: () -> Void, then second: () -> Void, of change: () -> Void
    ) -> Bool {
      let notifications = Recorder<Bool>()
      withObservationTracking(first, onChange: { notifications.append(true) })
      withObservationTracking(second, onChange: {})
      change()
      return notifications.all == [true]
    }
    let readHuman = { _ = human.pictures }
    let readPicture = { _ = picture?.prequels }
    #expect(isNotified(observing: readHuman, then: readPicture) { other.cast = [human] })
    #expect(isNotified(observing: readPicture, then: readHuman) { other.sequel = picture })
    other.sequel = nil
    try films.save()
    // The human's observer is still notified after the picture was released.
    let isStillNotified = isNotified(observing: readHuman, then: readPicture) {
      picture = nil
      other.cast = []
    }
    #expect(isStillNotified)
  }

  @Test func `a delete rule into another database throws, and nothing is deleted`() throws {
    let keeper = Keeper(in: films, id: "k")
    keeper.kept = try human("lang")
    let denier = Denier(in: people, id: "d")
    try films.save()
    try people.save()
    for model in [keeper, denier] {
      let error = #expect(throws: DatabaseError.self) { try model.delete() }
      #expect(error?.code == .notInContext && !model.isDeleted)
    }
    #expect(try filmDatabase.snapshot().exists("k") && peopleDatabase.snapshot().exists("lang"))
    // If no rule is declared, a deletion in one database does not affect the other.
    let human = try human("h")
    let m = Picture(in: films)
    m.director = human
    try human.delete()
    #expect(m.director == nil)
  }

  @Test func `references into a released context read as nil, report an error and are kept`()
    throws
  {
    var other: ModelContext? = peopleDatabase.makeContext()
    films.resolveReferences(to: Human.self, in: other)
    let lang = try human("lang")
    let m = Picture(in: films, id: "m")
    (m.director, m.cast) = (lang, [lang])
    try films.save()
    other = nil
    let reported = Recorder<DatabaseError.Code>()
    films.errorHandler = { error in
      if let error = error as? DatabaseError { reported.append(error.code) }
    }
    #expect(m.director == nil && m.cast.isEmpty)
    #expect(reported.all == [.closed, .closed])
    m.sequel = m
    try films.save()
    #expect(
      try filmDatabase.json("m") == #"{"cast":["lang"],"director":"lang","sequel":"m"}"#)
  }

  @Test func `contexts that refer to each other are released`() throws {
    weak var first: ModelContext?
    weak var second: ModelContext?
    weak var model: Human?
    do {
      let (one, two) = (peopleDatabase.makeContext(), filmDatabase.makeContext())
      two.resolveReferences(to: Human.self, in: one)
      one.resolveReferences(to: Picture.self, in: two)
      let human = Human(in: one)
      let picture = Picture(in: two)
      (picture.director, picture.cast) = (human, [human])
      #expect(human.pictures == [picture])
      (first, second, model) = (one, two, human)
    }
    #expect(first == nil && second == nil && model == nil)
  }
}
