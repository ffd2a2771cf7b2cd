/// Bugs in the operators of queries, and in what models store.
extension PlantedBug {
  static let queries: [PlantedBug] = [
    PlantedBug(
      "scan-by-changes-in-order", rule: "queries",
      "results by ID come in the order of changes",
      in: Place.rowSource,
      find: """
        case .everything where readsRecords && consumer != .inOrder && execution.view.past == nil:
        """,
      plant: """
        case .everything where readsRecords && (PLANTED || consumer != .inOrder) && execution.view.past == nil:
        """, killedBy: .queries),
    PlantedBug(
      "elements-not-collected", rule: "queries",
      "a document with several matching elements is a result several times",
      in: Place.plan,
      find: "var yieldsEachOnce: Bool { !definition.index.eachElement || ranges.count == 1 }",
      plant: """
        var yieldsEachOnce: Bool { PLANTED || !definition.index.eachElement || ranges.count == 1 }
        """,
      killedBy: .queries),
    PlantedBug(
      "index-order-for-id-order", rule: "queries",
      "results by ID come in the order of an index",
      in: Place.rowSource,
      find: """
        where access.isOneValue || consumer != .inOrder && access.yieldsEachOnce:
        """,
      plant: """
        where access.isOneValue || (PLANTED || consumer != .inOrder) && access.yieldsEachOnce:
        """, killedBy: .queries),
    PlantedBug(
      "union-of-first", rule: "queries", "a union leaves out what its second input yields",
      in: Place.candidates,
      find: "for access in accesses { found.formUnion(try ids(of: access)) }",
      plant: """
        for access in accesses.prefix(PLANTED ? 1 : .max) { found.formUnion(try ids(of: access)) }
        """,
      killedBy: .queries),
    PlantedBug(
      "offset-skips-too-few", rule: "queries", "an offset skips one result too few",
      in: Place.execution,
      find: "guard skipped >= query.offset else {",
      plant: "guard skipped >= query.offset - (PLANTED ? 1 : 0) else {",
      killedBy: .queries),
    PlantedBug(
      "offset-shortens-limit", rule: "queries", "an offset makes a sorted query end too early",
      in: Place.execution,
      find: "var rows = SortedRows(limit: wanted)",
      plant: """
        var rows = SortedRows(limit: wanted)
        if PLANTED, query.offset > 0 { left -= 1 }
        """,
      killedBy: .queries),
    PlantedBug(
      "cached-refusal-accepted", rule: "queries",
      "a document that the predicate cache refused is a result",
      in: Place.execution,
      find: """
        tally.cached += 1
        isAccepted = matchResult == .accepted
        """,
      plant: """
        tally.cached += 1
        isAccepted = PLANTED || matchResult == .accepted
        """, killedBy: .queries),
    PlantedBug(
      "missing-left-out-of-order", rule: "queries",
      "a sort along an index leaves out documents without the property",
      in: Place.orderedScan,
      find: "endsWithMissing = access.endsWithMissing",
      plant: "endsWithMissing = !PLANTED && access.endsWithMissing",
      killedBy: .queries),
    PlantedBug(
      "rows-miscounted", rule: "queries", "a plan counts candidates as results of its filter",
      in: Place.operators,
      find: """
        name: "filter", details: plan.residual.description, rows: tally.accepted, inputs: [root])
        """,
      plant: """
        name: "filter", details: plan.residual.description, rows: PLANTED ? tally.candidates : tally.accepted, inputs: [root])
        """, killedBy: .queries),
  ]

  static let models: [PlantedBug] = [
    PlantedBug(
      "old-property-kept", rule: "models", "a changed property is stored beside its old value",
      in: Place.replacing,
      find: "isReplaced = order == 0",
      plant: "isReplaced = order == 0 && !PLANTED",
      killedBy: .models),
    PlantedBug(
      "last-properties-not-added", rule: "models",
      "a property whose name comes after all others is not added",
      in: Place.replacing,
      find: "for change in changes { add(change) }",
      plant: "for change in changes where !PLANTED { add(change) }",
      killedBy: .models),
    PlantedBug(
      "removed-property-kept", rule: "models", "a property that is set to nil keeps its value",
      in: Place.replacing,
      find: "guard let value = change.value else { return }",
      plant: """
        guard let value = change.value ?? (PLANTED ? SharedBytes(copying: [0]) : nil) else { return }
        """, killedBy: .models),
    PlantedBug(
      "new-property-misplaced", rule: "models",
      "properties are not in the order of their names' bytes",
      in: Place.replacing,
      find: "if order > 0 { break }",
      plant: "if PLANTED ? order != 0 : order > 0 { break }",
      killedBy: .models),
  ]
}
