import DivanLog

extension Model {
  /// Releases the targets that reference lists retain since they were looked up.
  final func letGoOfFound() {
    holdsFound = false
    // Keeps the targets alive until the lists are consistent again: releasing them may run client
    // code.
    let lists = referenceLists
    for (index, list) in lists { referenceLists[index] = list.map(\.unheld) }
  }

  /// Releases the targets of this model, which is in no context and is being deallocated.
  ///
  /// Iterative, so that a long chain does not overflow the stack: each released model adds its own
  /// targets to the list of the first.
  final func letGoOfTargets() {
    var targets = references.values.compactMap(\.target)
    for list in referenceLists.values { targets += list.compactMap(\.target) }
    references = [:]
    referenceLists = [:]
    guard !targets.isEmpty else { return }
    if let going { return going.models += targets }
    let going = ReleasedModels()
    going.models = targets
    targets = []
    while var next = going.models.popLast() {
      if isKnownUniquelyReferenced(&next) { next.going = going }
    }
  }
}
