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
    if observers != nil { core.noteInverseRead(by: self) }
    do {
      let home = try core.home(of: relation.source)
      if observers != nil, home !== core { home.noteInverseRead(by: self) }
      return try home.models(referringTo: self, by: relation) { core.handle?.errorHandler?($0) }
        .compactMap { $0 as? Source }
    } catch {
      core.handle?.errorHandler?(error)
      return []
    }
  }
}

extension Model {
  final func announceInverses() { announcing(ModelObservation.inversePath) {} }
}
