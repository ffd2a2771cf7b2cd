import Observation

/// How models tell who observes them of reads and changes, in the manner of `@Observable`.
///
/// A class takes part if it is declared `Observable`, and models of a context whose ``ModelContext/isObservable`` is
/// set. Each property stands for itself; what a model is otherwise, such as `needsSave`, stands for one
/// more, and its attachments for another.
enum ModelObservation {
  /// What the observation library is told about: it only compares key paths, which a model's own would be
  /// too slow for.
  struct Subject: Observable, Sendable {
    subscript(property: Int) -> Never { preconditionFailure("Nobody reads a model through this") }
  }

  typealias Path = any KeyPath<Subject, Never> & Sendable

  static let subject = Subject()
  /// Whether the model is new, deleted or changed.
  static let statePath: Path = \Subject[-1]
  static let attachmentsPath: Path = \Subject[-2]
  /// Properties that the class does not declare.
  static let undeclaredPath: Path = \Subject[-3]
  /// Which models refer to the model.
  static let inversePath: Path = \Subject[-4]
  /// When the model was changed elsewhere.
  static let externalChangePath: Path = \Subject[-5]
  /// Which revision of its document the model's context has.
  static let documentPath: Path = \Subject[-6]

  /// All that stands for no declared property.
  static var otherPaths: [Path] { [statePath, attachmentsPath, undeclaredPath] }

  static func path(ofProperty index: Int) -> Path { \Subject[index] }

  /// Whether a class of models is declared `Observable`.
  static func isObservable(_ type: Model.Type) -> Bool { type is any Observable.Type }
}

/// Those who observe a model.
///
/// An object of its own, since a registrar is of a type whose size nobody knows here: to find that there is none costs as much as
/// to copy it. It tells the registrar itself, for which nobody then copies that.
final class ModelObservers {
  /// What stands for each property.
  private let propertyPaths: [ModelObservation.Path]
  private let registrar = ObservationRegistrar()

  init(_ propertyPaths: [ModelObservation.Path]) { self.propertyPaths = propertyPaths }

  func noteAccess(_ path: ModelObservation.Path) {
    registrar.access(ModelObservation.subject, keyPath: path)
  }

  func noteAccess(ofProperty index: Int) { noteAccess(propertyPaths[index]) }

  func willChange(_ path: ModelObservation.Path) {
    registrar.willSet(ModelObservation.subject, keyPath: path)
  }

  func didChange(_ path: ModelObservation.Path) {
    registrar.didSet(ModelObservation.subject, keyPath: path)
  }
}

extension ModelProperty {
  /// What stands for the property where its model is observed.
  func observationPath(in model: Model) -> ModelObservation.Path {
    model.observationPath(of: place)
  }
}

extension Model {
  /// What stands for a property where the model is observed.
  final func observationPath(of place: PropertyPlace) -> ModelObservation.Path {
    modelClass.observationPaths[place.index]
  }

  /// Whether reads and changes are told of.
  private var isObserved: Bool { modelClass.isObservable && !isUnobserved }

  /// The flags of a property of this model that was not touched yet.
  final func initialFlags(at place: PropertyPlace) -> UInt16 {
    isUnobserved ? place.initialFlags & ~PropertyFlags.observed : place.initialFlags
  }

  /// Notes that something is read.
  @inline(__always)
  final func noteAccess(_ path: @autoclosure () -> ModelObservation.Path) {
    guard isObserved else { return }
    if observers == nil { startObservation() }
    withObservers { $0.noteAccess(path()) }
  }

  /// Notes that a property is read that has ``PropertyFlags/observed``, which only one of an observed model has.
  @inline(__always)
  final func noteAccess(ofProperty index: Int) {
    if observers == nil { startObservation() }
    withObservers { $0.noteAccess(ofProperty: index) }
  }

  /// Apart from what is done at each read.
  @inline(never)
  private final func startObservation() {
    observers = ModelObservers(modelClass.observationPaths)
  }

  /// Makes a change of which observers are told.
  @inline(__always)
  final func announcing(
    _ path: @autoclosure () -> ModelObservation.Path, _ change: () -> Void
  ) {
    guard let observers else { return change() }
    let path = path()
    observers.willChange(path)
    change()
    observers.didChange(path)
  }

  /// Tells observers of changes that are made by `change`.
  final func announcing(
    _ paths: @autoclosure () -> [ModelObservation.Path], _ change: () -> Void
  ) {
    guard let observers else { return change() }
    let paths = paths()
    for path in paths { observers.willChange(path) }
    change()
    for path in paths { observers.didChange(path) }
  }

  /// Has observers told of nothing any more, nor of what is read.
  final func stopObservation() {
    isUnobserved = true
    for place in modelClass.places {
      setFlags(flags(at: place) & ~PropertyFlags.observed, at: place)
    }
  }
}
