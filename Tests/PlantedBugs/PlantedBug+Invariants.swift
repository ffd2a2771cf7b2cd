/// Bugs that only the internal checks notice at once: answers stay right, or go wrong much later.
extension PlantedBug {
  static let invariants: [PlantedBug] = [
    PlantedBug(
      "separator-too-low", rule: "the B-tree", "the separator of a split is a key of the left leaf",
      in: Place.treeSetting,
      find: """
        let separator = NodePage.separator(
          between: leftPage.key(leftPage.count - 1), and: right.page.key(0))
        """,
      plant: """
        let separator = PLANTED
          ? leftPage.key(leftPage.count - 1).array
          : NodePage.separator(between: leftPage.key(leftPage.count - 1), and: right.page.key(0))
        """, killedBy: .rules("the index equals a plain dictionary"), symptom: .trap),
    PlantedBug(
      "empty-leaf-kept", rule: "the B-tree", "a leaf without entries stays in the tree",
      in: Place.treeRemoval,
      find: "guard child.usedSize < lowerLimit, page.count > 0 else { return }",
      plant: "guard !PLANTED, child.usedSize < lowerLimit, page.count > 0 else { return }",
      killedBy: .rules("an index of several levels equals a plain dictionary"), symptom: .trap),
    PlantedBug(
      "branches-miscounted", rule: "2", "a removed branch is not subtracted from the leaves",
      in: Place.treePruning, find: "leafCount -= 1", plant: "if !PLANTED { leafCount -= 1 }",
      killedBy: .rules("an index follows every kind of change"), symptom: .trap),
  ]
}
