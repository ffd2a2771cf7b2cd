/// Two filters joined with `&&` or `||`, whose parts are gathered when they are asked for.
///
/// Filters are made in loops: were the parts gathered at every step, that would take time that grows with the square of
/// their number.
final class FilterJoin: @unchecked Sendable {
  // Sendable: nothing changes but in `deinit`, when no one else has it.

  let isAnd: Bool
  private var parts: (Filter, Filter)?

  init(isAnd: Bool, _ a: Filter, _ b: Filter) {
    self.isAnd = isAnd
    parts = (a, b)
  }

  deinit {
    // One after the other, so that a long chain needs no deep stack.
    var left: [FilterJoin] = []
    func release(_ join: FilterJoin) {
      guard let parts = join.parts.take() else { return }
      for part in [parts.0, parts.1] { if let inner = part.join { left.append(inner) } }
    }
    release(self)
    while var last = left.popLast() { if isKnownUniquelyReferenced(&last) { release(last) } }
  }

  /// What all of this says.
  var expression: FilterExpression {
    var found: [FilterExpression] = []
    var open: [Filter] = []
    func add(_ parts: (Filter, Filter)?) {
      if let parts { open += [parts.1, parts.0] }
    }
    add(parts)
    while let next = open.popLast() {
      if let inner = next.join, inner.isAnd == isAnd {
        add(inner.parts)
      } else {
        // Of the other kind: those are no deeper in each other than a filter may be.
        let expression = next.expression
        found += isAnd ? expression.andParts : expression.orParts
      }
    }
    return isAnd ? .and(found) : .or(found)
  }
}
