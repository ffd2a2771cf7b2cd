import DivanLog

/// A list that closures on any thread add to.
package final class Recorder<Element: Sendable>: Sendable {
  private let elements = Guarded<[Element]>([])

  package init() {}

  package func append(_ element: Element) { elements.withLock { $0.append(element) } }

  /// The elements so far, in order.
  package var all: [Element] { elements.withLock { $0 } }
}
