#if canImport(SwiftUI)
  public import SwiftUI

  // Type-checked on Linux against declarations in Tests/systems/SwiftUI only, and never run. It
  // binds `ErrorPresenter`, which is tested, to an alert.

  extension View {
    /// Shows the errors of the context in the environment in an alert.
    ///
    /// These are the errors of live queries, of following, autosaving and reading, which no call
    /// throws: see ``ModelContext/errorHandler``, which receives them as before. Errors that your
    /// own calls throw are yours to show.
    ///
    /// Put it into the views that you present, such as a sheet, and below `divan(_:)`. If several
    /// views of the same context have it, the one that appeared last shows the alert. Several
    /// errors are shown together. One that the user dismissed is not shown again for a minute.
    public func divanErrors() -> some View { modifier(ErrorModifier()) }
  }

  private struct ErrorModifier: ViewModifier {
    @Environment(\.divanContext) private var context
    @State private var presenter = ErrorPresenter()

    func body(content: Content) -> some View {
      let _ = presenter.follow(context)
      @Bindable var presenter = presenter
      content
        .onAppear { presenter.appear() }
        .onDisappear { presenter.disappear() }
        .alert(presenter.title, isPresented: $presenter.isPresented) {
          Button("OK", role: .cancel) {}
        } message: {
          Text(verbatim: presenter.message)
        }
    }
  }
#endif
