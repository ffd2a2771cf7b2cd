import DivanLog
import Synchronization

/// A list that closures on any thread add to.
///
/// Public, because tests of guides are also compiled as the code of another package.
public final class Recorder<Element: Sendable>: Sendable {
  private let elements = Guarded<[Element]>([])

  /// Creates an empty list.
  public init() {}

  /// Adds an element at the end.
  public func append(_ element: Element) { elements.withLock { $0.append(element) } }

  /// The elements so far, in order.
  public var all: [Element] { elements.withLock { $0 } }
}
