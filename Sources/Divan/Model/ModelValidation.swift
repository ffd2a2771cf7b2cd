internal import DivanLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Gathers what is wrong with a model that is to be saved: see ``Model/validate(_:)``.
public struct ModelValidation {
  private let model: Model
  private(set) var failures: [InvalidModelsError.Failure] = []

  init(_ model: Model) { self.model = model }

  /// Says that something is wrong, so that nothing is saved.
  ///
  /// - Parameters:
  ///   - message: what is wrong, for whoever made the change.
  ///   - property: the name of the property that is wrong, if it is one.
  public mutating func fail(_ message: String, property: String? = nil) {
    failures.append(
      InvalidModelsError.Failure(
        documentID: model.id, className: "\(type(of: model))", property: property,
        message: message))
  }

  /// Says that something is wrong unless a condition holds.
  public mutating func require(
    _ condition: Bool, _ message: @autoclosure () -> String, property: String? = nil
  ) {
    if !condition { fail(message(), property: property) }
  }
}

@available(*, unavailable)
extension ModelValidation: Sendable {}

/// Why models were not saved: all that their ``Model/validate(_:)`` found.
///
/// It is the ``DatabaseError/underlying`` of a ``DatabaseError`` with the code `invalidModel`.
public struct InvalidModelsError: Error, Sendable, CustomStringConvertible {
  /// One thing that is wrong.
  public struct Failure: Sendable, Hashable, CustomStringConvertible {
    /// The ID of the model's document.
    public let documentID: String
    /// The name of the model's class.
    public let className: String
    /// The name of the property that is wrong; nil if it is none alone.
    public let property: String?
    /// What is wrong.
    public let message: String

    /// The class, the property and what is wrong.
    public var description: String {
      printable("\(className)\(property.map { ".\($0)" } ?? "") (\(documentID)): \(message)")
    }
  }

  /// All that is wrong, in the order in which the models were to be saved.
  public let failures: [Failure]

  /// Everything that is wrong, in one line.
  public var description: String { failures.map(\.description).joined(separator: "; ") }
}

extension InvalidModelsError: LocalizedError {
  /// The same as ``description``.
  public var errorDescription: String? { description }
}

extension DatabaseError.Code {
  /// A model says that it is not to be saved as it is.
  public static let invalidModel = Self("invalidModel")
}
