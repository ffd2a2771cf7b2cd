import DivanLog

extension Model {
  /// Releases the targets that reference lists retain since they were looked up.
  final func releaseFound() {
    retainsFound = false
    // Keeps the targets alive until the lists are consistent again: releasing them may run client
    // code.
    let lists = referenceLists
    for (index, list) in lists { referenceLists[index] = list.map(\.unretained) }
  }

  /// Releases the targets of this model, which is in no context and is being deallocated.
  ///
  /// Iterative, because a long chain would overflow the stack: each released model adds its own
  /// targets to the queue of the first.
  final func releaseTargets() {
    var targets = references.values.compactMap(\.target)
    for list in referenceLists.values { targets += list.compactMap(\.target) }
    references = [:]
    referenceLists = [:]
    guard !targets.isEmpty else { return }
    if let releaseQueue { return releaseQueue.models += targets }
    let releaseQueue = ReleasedModels()
    releaseQueue.models = targets
    targets = []
    while var next = releaseQueue.models.popLast() {
      if isKnownUniquelyReferenced(&next) { next.releaseQueue = releaseQueue }
    }
  }
}
