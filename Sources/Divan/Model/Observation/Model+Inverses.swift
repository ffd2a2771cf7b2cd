import DivanLog

extension Model {
  /// Returns the models that refer to this one, for reading an inverse property.
  final func models<Source: Model>(
    by path: AnyKeyPath, of _: Source.Type
  ) -> [Source] {
    noteAccess(ModelObservation.inversePath)
    guard let core else { return [] }
    guard let relation = modelClass.inverses.first(where: { $0.path == path }) else {
      report(unknownProperties)
      return []
    }
    if observers != nil { core.inverseReaders.add(self) }
    do {
      let targetCore = try core.targetCore(of: relation.source)
      if observers != nil, targetCore !== core { targetCore.inverseReaders.add(self) }
      return try targetCore.models(referringTo: self, by: relation) {
        core.handle?.report($0)
      }
      .compactMap { $0 as? Source }
    } catch {
      core.handle?.report(error)
      return []
    }
  }
}

extension Model {
  final func announceInverses() { announcing(ModelObservation.inversePath) {} }
}
