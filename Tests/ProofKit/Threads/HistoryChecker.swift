/// Checks whether a ``History`` could result from whole transactions that ran in sequence.
///
/// It needs no search, because the store itself reports the order of commits by sequence numbers.
/// That order is compared with everything that was observed:
///
/// 1. *Order.* Sequence numbers of committed transactions are all different, and rise within each
///    and from each to the next. A transaction that began after another one ended comes later.
/// 2. *Transactions.* Each read the state that the ones before it in that order left, and its own
///    writes. So there is no lost update and no write skew.
/// 3. *Snapshots.* Each is the whole state after some commit, the one with the snapshot's sequence
///    number, and stays so whenever it is read: no dirty, aborted, half or non-repeatable read. It
///    is no older than any commit that had returned when it was requested, and than any snapshot
///    that was available by then; and no newer than the commits that had begun when it was
///    available.
/// 4. *Feeds.* From any sequence number on they return the latest change of each document after it,
///    in order, once.
/// 5. *Crashes.* The contents afterwards are the state after some commit, no older than the last
///    one at full durability and than any such that was seen.
package struct HistoryChecker {
  private let history: History
  /// The transactions that were or may have been committed, in the order of the store.
  private let commits: [History.Transaction]
  private let lastSequences: [UInt64]
  private var placesByName: [String: Int] = [:]
  /// For each key, its values and their commits; commits are numbered from 1.
  private var versions: [String: [(commit: Int, change: History.Change)]] = [:]
  package private(set) var problems: [String] = []

  package init(_ history: History) {
    self.history = history
    let recoveredSequence = history.recovered?.sequence
    let initial = History.Transaction(
      "what was there at first", 0...0,
      history.initial.map { .write($0.key, $0.value, sequence: $0.sequence) })
    commits = ([initial] + history.transactions)
      .filter { transaction in
        guard let first = transaction.writes.first else { return false }
        switch transaction.outcome {
        case .committed: return true
        case .aborted: return false
        // Only transactions that were found again, or were seen by others, did happen.
        case .unknown:
          return recoveredSequence.map { first.sequence <= $0 } ?? false
            || history.views.contains { $0.sequence >= first.sequence }
        }
      }
      .sorted { ($0.writes.first?.sequence ?? 0) < ($1.writes.first?.sequence ?? 0) }
    lastSequences = commits.map { $0.writes.last?.sequence ?? 0 }
    for (index, commit) in commits.enumerated() {
      placesByName[commit.name] = index
      for change in commit.writes { versions[change.key, default: []].append((index + 1, change)) }
    }
  }

  /// Returns descriptions of all problems of a history.
  package static func problems(of history: History) -> [String] {
    var checker = HistoryChecker(history)
    checker.checkOrder()
    for transaction in history.transactions { checker.check(transaction) }
    for view in history.views { checker.check(view) }
    checker.checkOrderOfViews()
    if let recovered = history.recovered { checker.checkRecovered(recovered) }
    return checker.problems
  }
}

extension HistoryChecker {
  private mutating func report(_ problem: String) { problems.append(problem) }

  // MARK: States

  /// Returns the last change of a document after a number of commits.
  private func change(of key: String, after count: Int) -> History.Change? {
    guard let versions = versions[key] else { return nil }
    // The last version of a commit at or below `count`.
    var (low, high) = (0, versions.count)
    while low < high {
      let middle = (low + high) / 2
      if versions[middle].commit <= count { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? nil : versions[low - 1].change
  }

  private func state(after count: Int) -> [String: String] {
    versions.keys.reduce(into: [:]) { $0[$1] = change(of: $1, after: count)?.value }
  }

  /// Returns the number of commits up to the one with this last sequence number; nil if none.
  private func commitCount(at sequence: UInt64) -> Int? {
    if sequence == 0 { return 0 }
    return lastSequences.firstIndex(of: sequence).map { $0 + 1 }
  }

  // MARK: Order

  private mutating func checkOrder() {
    var last: UInt64 = 0
    for commit in commits {
      // Initial documents began before everything.
      if commit.begin > 0 { last = max(last, history.spentSequence) }
      for change in commit.writes {
        if change.sequence <= last {
          report("\(commit.name) wrote \(change.key) at \(change.sequence), after \(last)")
        }
        last = max(last, change.sequence)
      }
    }
    // Walking back, the earliest end of all later ones must not be before a beginning.
    var earliestEnd: (moment: Int, name: String)?
    for commit in commits.reversed() {
      if let earliestEnd, earliestEnd.moment < commit.begin {
        report("\(commit.name) was committed before \(earliestEnd.name), and began after it")
      }
      if commit.end < earliestEnd?.moment ?? .max { earliestEnd = (commit.end, commit.name) }
    }
  }

  // MARK: Transactions

  private mutating func check(_ transaction: History.Transaction) {
    if let index = placesByName[transaction.name] {
      if let wrong = firstWrongRead(of: transaction, after: index) {
        report("\(transaction.name) read \(wrong), which its predecessors had not left")
      }
      return
    }
    // A transaction that failed may have built on a commit that was lost, and fails with it.
    if transaction.outcome != .committed, hasLostCommit(begunBefore: transaction.end) { return }
    // It changed nothing, so any place in the order that the clock allows is valid.
    guard transaction.steps.contains(where: { if case .read = $0 { true } else { false } }) else {
      return
    }
    let (earliest, latest) = places(begin: transaction.begin, end: transaction.end)
    for count in stride(from: earliest, through: latest, by: 1)
    where firstWrongRead(of: transaction, after: count) == nil { return }
    let wrong = firstWrongRead(of: transaction, after: latest) ?? "nothing"
    report(
      "\(transaction.name) read \(wrong), and no state after \(earliest) to \(latest) commits is so"
    )
  }

  private func hasLostCommit(begunBefore moment: Int) -> Bool {
    history.transactions.contains {
      $0.outcome == .unknown && $0.begin < moment && placesByName[$0.name] == nil
    }
  }

  /// Returns the range of commit counts at which a call with these moments may have taken place.
  private func places(begin: Int, end: Int) -> (earliest: Int, latest: Int) {
    let earliest = (commits.lastIndex { $0.end < begin && $0.outcome != .unknown } ?? -1) + 1
    let latest = (commits.lastIndex { $0.begin < end } ?? -1) + 1
    return (earliest, latest)
  }

  /// Returns a description of the first read of a transaction that does not match a state.
  private func firstWrongRead(
    of transaction: History.Transaction, after count: Int
  ) -> String? {
    var own: [String: String?] = [:]
    var outer: [[String: String?]] = []
    for step in transaction.steps {
      switch step {
      case .read(let key, let value):
        let expected = own[key] ?? change(of: key, after: count)?.value
        if value != expected {
          return "\(value ?? "nothing") in \(key) instead of \(expected ?? "nothing")"
        }
      case .write(let key, let value, _): own[key] = .some(value)
      case .begin: outer.append(own)
      case .taken: _ = outer.popLast()
      case .takenBack: own = outer.popLast() ?? [:]
      }
    }
    return nil
  }

  // MARK: Snapshots and feeds

  private mutating func check(_ view: History.View) {
    guard let count = commitCount(at: view.sequence) else {
      return report("\(view.name) is at \(view.sequence), where no commit ends")
    }
    let (earliest, latest) = places(begin: view.begin, end: view.end)
    if count < earliest {
      report("\(view.name) is without \(commits[earliest - 1].name), which had returned")
    }
    if count > latest {
      report("\(view.name) is with \(commits[count - 1].name), which had not begun")
    }
    checkReads(of: view, after: count)
  }

  private mutating func checkReads(of view: History.View, after count: Int) {
    for read in view.reads {
      switch read {
      case .document(let key, let value):
        let expected = change(of: key, after: count)?.value
        if value != expected {
          report(
            "\(view.name) read \(value ?? "nothing") in \(key) instead of \(expected ?? "nothing")")
        }
      case .everything(let found):
        let expected = state(after: count)
        if found != expected { report("\(view.name) scanned \(found) instead of \(expected)") }
      case .count(let found):
        let expected = state(after: count).count
        if found != expected { report("\(view.name) counted \(found) instead of \(expected)") }
      case .changes(let since, let found):
        let expected = versions.keys.compactMap { change(of: $0, after: count) }
          .filter { $0.sequence > since }.sorted { $0.sequence < $1.sequence }
        if found != expected {
          report("\(view.name) got \(found) since \(since) instead of \(expected)")
        }
      }
    }
  }

  private mutating func checkOrderOfViews() {
    // In the order of their beginnings, each against the newest that was available by then.
    let ended = history.views.sorted { $0.end < $1.end }
    var index = 0
    var newest: History.View?
    for view in history.views.sorted(by: { $0.begin < $1.begin }) {
      while index < ended.count, ended[index].end < view.begin {
        if ended[index].sequence >= newest?.sequence ?? 0 { newest = ended[index] }
        index += 1
      }
      if let newest, view.sequence < newest.sequence {
        report("\(view.name) is older than \(newest.name), which was there before it began")
      }
    }
  }

  // MARK: Crashes

  private mutating func checkRecovered(_ view: History.View) {
    guard let count = commitCount(at: view.sequence) else {
      return report("\(view.name) is at \(view.sequence), where no commit ends")
    }
    checkReads(of: view, after: count)
    let seen = history.views.compactMap { commitCount(at: $0.sequence) }.max() ?? 0
    for (index, commit) in commits.enumerated().dropFirst(count) where commit.isFull {
      if commit.outcome == .committed {
        report("\(view.name) is without \(commit.name), which was acknowledged")
      } else if index < seen {
        report("\(view.name) is without \(commit.name), which had been seen")
      }
    }
  }
}
