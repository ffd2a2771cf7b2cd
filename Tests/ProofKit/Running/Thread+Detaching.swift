import Dispatch
import Foundation

extension Thread {
  /// Runs `body` on a thread of its own, as a part of `group`.
  static func detach(in group: DispatchGroup, _ body: @escaping @Sendable () -> Void) {
    group.enter()
    detachNewThread {
      body()
      group.leave()
    }
  }
}
