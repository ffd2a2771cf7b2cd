internal import DivanLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Collects the failures of a model that is being validated: see ``Model/validate(_:)``.
///
/// ```swift
/// override func validate(_ validation: inout ModelValidation) {
///   validation.require(!text.isEmpty, "a todo has a text", property: "text")
/// }
/// ```
public struct ModelValidation {
  private let model: Model
  private(set) var failures: [InvalidModelsError.Failure] = []

  init(_ model: Model) { self.model = model }

  /// Reports a failure, which prevents the whole save.
  ///
  /// - Parameters:
  ///   - message: a description of the failure, for the user or code that made the change.
  ///   - property: the name of the invalid property, if the failure concerns one.
  public mutating func fail(_ message: String, property: String? = nil) {
    failures.append(
      InvalidModelsError.Failure(
        documentID: model.id, className: "\(type(of: model))", property: property,
        message: message))
  }

  /// Reports a failure unless a condition holds.
  public mutating func require(
    _ condition: Bool, _ message: @autoclosure () -> String, property: String? = nil
  ) {
    if !condition { fail(message(), property: property) }
  }
}

@available(*, unavailable)
extension ModelValidation: Sendable {}

/// The failures that ``Model/validate(_:)`` reported, for which models were not saved.
///
/// ```swift
/// do {
///   try context.save()
/// } catch let error as DatabaseError where error.code == .invalidModel {
///   let failures = (error.underlying as? InvalidModelsError)?.failures ?? []
///   for failure in failures { print(failure.property ?? "", failure.message) }
/// }
/// ```
///
/// It is the ``DatabaseError/underlying`` error of a ``DatabaseError`` with the code
/// `invalidModel`.
public struct InvalidModelsError: Error, Sendable, CustomStringConvertible {
  /// A failure that a model reported.
  ///
  /// ```swift
  /// for failure in (error.underlying as? InvalidModelsError)?.failures ?? [] {
  ///   problems.append("\(failure.property ?? "model"): \(failure.message)")
  /// }
  /// ```
  public struct Failure: Sendable, Hashable, CustomStringConvertible {
    /// The ID of the model's document.
    public let documentID: String
    /// The name of the model's class.
    public let className: String
    /// The name of the invalid property; nil if the failure does not concern a single one.
    public let property: String?
    /// A description of the failure.
    public let message: String

    /// The class, the property and the message.
    public var description: String {
      printable("\(className)\(property.map { ".\($0)" } ?? "") (\(documentID)): \(message)")
    }
  }

  /// All failures, in the order in which the models were to be saved.
  public let failures: [Failure]

  /// All failures, in one line.
  public var description: String { failures.map(\.description).joined(separator: "; ") }
}

extension InvalidModelsError: LocalizedError {
  /// The same as ``description``.
  public var errorDescription: String? { description }
}
