/// An observer of a transaction that shows its changes before they are committed.
///
/// When it is notified that changes have ended, the transaction is in its new state and can be
/// read.
protocol TransactionObserver: AnyObject {
  /// Notifies that changes begin that are kept or rolled back together.
  func nestedChangesBegan()
  /// Notifies that the innermost changes have ended; if not kept, they are rolled back.
  func nestedChangesEnded(areKept: Bool)
  /// Notifies that the transaction has ended; nothing can be read from it any more.
  func transactionEnded(isCommitted: Bool)
}

/// The observers of a transaction, referenced weakly.
///
/// Invariant: the number of open beginnings that each observer was notified of equals the current
/// depth.
struct TransactionObservers {
  private struct WeakObserver {
    weak var observer: (any TransactionObserver)?
  }

  private var members: [WeakObserver] = []
  /// The nesting depth of the current changes.
  private var depth = 0

  /// Adds an observer, and notifies it of the nested changes in progress.
  mutating func add(_ observer: any TransactionObserver) {
    members.removeAll { $0.observer == nil }
    members.append(WeakObserver(observer: observer))
    for _ in 0..<depth { observer.nestedChangesBegan() }
  }

  mutating func noteBeginning() {
    depth += 1
    for member in members { member.observer?.nestedChangesBegan() }
  }

  /// Ends nested changes; returns the observers, to be notified when no more state changes.
  mutating func noteEnd() -> [any TransactionObserver] {
    depth -= 1
    return all
  }

  var all: [any TransactionObserver] { members.compactMap(\.observer) }
}
