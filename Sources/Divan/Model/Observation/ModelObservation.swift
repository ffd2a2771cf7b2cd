import Observation

/// How models notify their observers of reads and changes, in the manner of `@Observable`.
///
/// A class takes part if its ``Model/isObservable`` is true, in contexts with
/// ``ModelContext/isObservable``. Each property has its own path. There is another path for the
/// model's state, such as `needsSave`, and another for its attachments.
enum ModelObservation {
  /// The subject that the observation library sees instead of the model.
  ///
  /// The library only compares key paths, and key paths of a model would be too slow.
  struct Subject: Observable, Sendable {
    subscript(property: Int) -> Never {
      preconditionFailure("The library never reads through the subject")
    }
  }

  typealias Path = any KeyPath<Subject, Never> & Sendable

  static let subject = Subject()
  /// Whether the model is new, deleted or changed.
  static let statePath: Path = \Subject[-1]
  static let attachmentsPath: Path = \Subject[-2]
  /// Properties that the class does not declare.
  static let undeclaredPath: Path = \Subject[-3]
  /// The inverses of the model.
  static let inversePath: Path = \Subject[-4]
  /// The time of the last external change.
  static let externalChangePath: Path = \Subject[-5]
  /// The revision of the document that the model's context has.
  static let documentPath: Path = \Subject[-6]

  /// The paths of state, attachments and undeclared properties.
  static var otherPaths: [Path] { [statePath, attachmentsPath, undeclaredPath] }

  static func path(ofProperty index: Int) -> Path { \Subject[index] }
}

/// The observers of a model.
///
/// It is an object because the size of a registrar is not known at compile time: checking an
/// optional registrar for nil would cost as much as copying it. The methods are on this class so
/// that callers need not copy the registrar.
final class ModelObservers {
  /// The observation path of each property.
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
  /// The property's observation path.
  func observationPath(in model: Model) -> ModelObservation.Path {
    model.observationPath(of: location)
  }
}
