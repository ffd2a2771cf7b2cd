#if canImport(SwiftUI)
  public import SwiftUI

  // Type-checked on Linux against declarations in Tests/systems/SwiftUI only, and never run.

  /// The context of the views below; nil if none was set.
  private struct DivanContextKey: EnvironmentKey {
    static var defaultValue: ModelContext? { nil }
  }

  extension EnvironmentValues {
    var divanContext: ModelContext? {
      get { self[DivanContextKey.self] }
      set { self[DivanContextKey.self] = newValue }
    }

    /// The context that the view's models belong to: `@Environment(\.divan) private var context`.
    ///
    /// Set it with `View.divan(_:)`. If none was set, it is a context that can read nothing: all of
    /// its methods throw ``DatabaseError/Code/notInContext``, with the advice to set one.
    public var divan: ModelContext {
      get { divanContext ?? .missing() }
      set { divanContext = newValue }
    }
  }
#endif
