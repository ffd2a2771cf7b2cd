import Observation

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The errors of a context that the user has not dismissed yet, for an alert.
///
/// All of them are shown together: a second alert right after the first may not appear. An error
/// that is there already is not added again. Neither is one that the user dismissed less than a
/// minute ago: a failed save is repeated after a while, and fails again for the same reason.
final class ErrorReports: Observable {
  private let observers = ObservationRegistrar()
  private var errors: [any Error] = []
  /// When the errors of these texts were dismissed.
  private var dismissals: [String: ContinuousClock.Instant] = [:]
  /// The objects that can show errors, in the order in which they appeared.
  private var presenters: [ObjectIdentifier] = []

  /// How many errors are kept; more than that fill an alert.
  static let limit = 10
  /// How long a dismissed error is not added again.
  static let quietPeriod = Duration.seconds(60)

  /// Adds an error, unless it is known or is a cancellation.
  func add(_ error: any Error, at now: ContinuousClock.Instant = .now) {
    let isCancellation =
      error is CancellationError || (error as? DatabaseError)?.code == .cancelled
    let text = ErrorReports.text(of: error)
    dismissals = dismissals.filter { now - $0.value < ErrorReports.quietPeriod }
    guard !isCancellation, errors.count < ErrorReports.limit, dismissals[text] == nil,
      !errors.contains(where: { ErrorReports.text(of: $0) == text })
    else { return }
    observers.withMutation(of: self, keyPath: \.title) { errors.append(error) }
  }

  /// Removes all errors, which the user has seen.
  func dismiss(at now: ContinuousClock.Instant = .now) {
    guard !errors.isEmpty else { return }
    for error in errors { dismissals[ErrorReports.text(of: error)] = now }
    observers.withMutation(of: self, keyPath: \.title) { errors = [] }
  }

  /// The description of the first error; nil if there is none.
  var title: String? {
    observers.access(self, keyPath: \.title)
    return errors.first.map(ErrorReports.text)
  }

  /// What can be done about the first error, and the descriptions of the others, one a line.
  var message: String {
    observers.access(self, keyPath: \.title)
    let hint = errors.first.flatMap { ($0 as? any LocalizedError)?.recoverySuggestion }
    return ((hint.map { [$0] } ?? []) + errors.dropFirst().map(ErrorReports.text))
      .joined(separator: "\n")
  }

  private static func text(of error: any Error) -> String {
    (error as? any LocalizedError)?.errorDescription ?? "\(error)"
  }
}

extension ErrorReports {
  /// Whether a presenter shows the errors: the one that appeared last does.
  ///
  /// It can be in a sheet over the others, where only it can show an alert.
  func isShown(by presenter: AnyObject) -> Bool {
    observers.access(self, keyPath: \.title)
    return presenters.last == ObjectIdentifier(presenter)
  }

  func add(presenter: AnyObject) {
    let id = ObjectIdentifier(presenter)
    observers.withMutation(of: self, keyPath: \.title) {
      presenters.removeAll { $0 == id }
      presenters.append(id)
    }
  }

  func remove(presenter: AnyObject) {
    observers.withMutation(of: self, keyPath: \.title) {
      presenters.removeAll { $0 == ObjectIdentifier(presenter) }
    }
  }
}
