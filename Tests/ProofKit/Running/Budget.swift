/// How much a proof tries.
package enum Budget: String, CaseIterable, Sendable {
  /// Seconds, in a debug build: a sample of everything, for `swift test`.
  case test
  /// Minutes, before every change lands.
  case ci
  /// Hours.
  case night
  /// Days, before a release.
  case release

  /// Returns the figure for this budget.
  package func choose<Figure>(
    test: Figure, ci: Figure, night: Figure, release: Figure
  ) -> Figure {
    switch self {
    case .test: test
    case .ci: ci
    case .night: night
    case .release: release
    }
  }
}
