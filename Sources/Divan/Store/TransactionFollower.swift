/// One who has to know which of a transaction's changes are kept, since others are shown them.
///
/// When it is told that changes are over, the transaction is what it is after that, and may be read.
protocol TransactionFollower: AnyObject {
  /// Changes begin that are kept or taken back together.
  func nestedChangesBegan()
  /// The changes that began last are over; unless they are kept, all is as it was before them.
  func nestedChangesEnded(areKept: Bool)
  /// The transaction is over; nothing can be read from it any more.
  func transactionEnded(isCommitted: Bool)
}

/// Those who follow a transaction, none of whom lives on by that.
///
/// Invariant: everybody who follows was told of as many beginnings without an end as there are.
struct TransactionFollowers {
  private struct WeakFollower {
    weak var follower: (any TransactionFollower)?
  }

  private var members: [WeakFollower] = []
  /// How many nested changes are going on.
  private var depth = 0

  /// Has somebody told from now on, and of the nested changes that are going on.
  mutating func add(_ follower: any TransactionFollower) {
    members.removeAll { $0.follower == nil }
    members.append(WeakFollower(follower: follower))
    for _ in 0..<depth { follower.nestedChangesBegan() }
  }

  mutating func noteBeginning() {
    depth += 1
    for member in members { member.follower?.nestedChangesBegan() }
  }

  /// Notes that nested changes are over; returns those who are to be told, when nobody changes this any more.
  mutating func noteEnd() -> [any TransactionFollower] {
    depth -= 1
    return all
  }

  var all: [any TransactionFollower] { members.compactMap(\.follower) }
}
