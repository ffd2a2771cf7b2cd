import DivanLog
import Synchronization

/// Two filters joined with `&&` or `||`, whose parts are collected on demand.
///
/// Filters are built in loops. Collecting the parts at every step would take time quadratic in
/// their number.
final class FilterJoin: Sendable {
  let isAnd: Bool
  /// Nil only while the join is released.
  private let parts: Guarded<(Filter, Filter)?>

  init(isAnd: Bool, _ a: Filter, _ b: Filter) {
    self.isAnd = isAnd
    parts = Guarded((a, b))
  }

  deinit {
    // Without recursion, so that a long chain needs no deep stack.
    var left: [FilterJoin] = []
    func release(_ join: FilterJoin) {
      guard let parts = join.parts.withLock({ $0.take() }) else { return }
      for part in [parts.0, parts.1] { if let inner = part.join { left.append(inner) } }
    }
    release(self)
    while var last = left.popLast() { if isKnownUniquelyReferenced(&last) { release(last) } }
  }

  /// The expression of the join.
  var expression: FilterExpression {
    var found: [FilterExpression] = []
    var open: [Filter] = []
    func add(_ parts: (Filter, Filter)?) {
      if let parts { open += [parts.1, parts.0] }
    }
    add(parts.withLock { $0 })
    while let next = open.popLast() {
      if let inner = next.join, inner.isAnd == isAnd {
        add(inner.parts.withLock { $0 })
      } else {
        // A join of the other kind, whose depth is limited.
        let expression = next.expression
        found += isAnd ? expression.andParts : expression.orParts
      }
    }
    return isAnd ? .and(found) : .or(found)
  }
}
