import Observation

/// What an alert of a view shows: the errors of the context in the view's environment.
@MainActor
final class ErrorPresenter: Observable {
  private let observers = ObservationRegistrar()
  private var reports: ErrorReports?
  /// Whether the view is on the screen.
  private var hasAppeared = false
  /// The error of an environment without a database, until it is dismissed.
  private let missing = ErrorReports()
  /// What was shown last, which stays visible while an alert disappears.
  private var lastTitle = ""
  private var lastMessage = ""

  nonisolated init() {}
}

extension ErrorPresenter {
  /// Shows the errors of another context; without one, the error that there is none.
  func follow(_ context: ModelContext?) {
    let new = context?.errorReports ?? missing
    guard new !== reports else { return }
    if context == nil { missing.add(ModelContext.missingDatabase) }
    reports?.remove(presenter: self)
    observers.withMutation(of: self, keyPath: \.isPresented) { reports = new }
    if hasAppeared { new.add(presenter: self) }
  }

  func appear() {
    hasAppeared = true
    reports?.add(presenter: self)
  }

  func disappear() {
    hasAppeared = false
    reports?.remove(presenter: self)
  }

  /// Whether the alert is shown; set to false when the user dismisses it.
  var isPresented: Bool {
    get {
      observers.access(self, keyPath: \.isPresented)
      return reports.map { $0.isShown(by: self) && $0.title != nil } ?? false
    }
    set { if !newValue, isPresented { reports?.dismiss() } }
  }

  var title: String {
    if isPresented, let title = reports?.title { lastTitle = title }
    return lastTitle
  }

  var message: String {
    if isPresented, let reports { lastMessage = reports.message }
    return lastMessage
  }
}
